"""Metrics of a replay, one module each."""
