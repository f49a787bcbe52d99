"""What the output tokens of a recording are made of."""
