"""Reads, writes and validates recordings. Knows formats and text; nothing of tokens, GPUs or cost."""
