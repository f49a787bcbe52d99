"""The command line: one file a command, which parses options, calls one function and prints."""
