"""The law beside the truth: closed forms, exact expectation, break-evens, depths, limits."""
