"""Many points of a what-if: the same recording asked about under varied options, kept, resumed and compared."""
