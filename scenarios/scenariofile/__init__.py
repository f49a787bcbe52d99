"""Scenario files: what a question is asked with, in YAML or TOML."""
