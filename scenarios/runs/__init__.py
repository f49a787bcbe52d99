"""One replay in figures, tables, timelines and files."""
