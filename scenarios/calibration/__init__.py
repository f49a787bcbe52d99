"""From what servers and recordings report to a profile."""
