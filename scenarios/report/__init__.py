"""Report pages: a run, or a check of the law, as one HTML file with plots, tables and their data."""
