"""Which drafts the target accepts: one interface, one model a file."""
