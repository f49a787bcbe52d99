"""One module a recording format; each offers a READER, listed in traces.registry."""
