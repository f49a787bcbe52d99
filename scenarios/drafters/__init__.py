"""Drafters without a model, one module each: a DRAFTER with its name, its options and what it drafts."""
