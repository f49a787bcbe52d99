"""Records of many groups, kept in one list in the order in which they are met.

A list for each group would be looked at by the garbage collector whenever it looks at everything.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator

import numpy as np


def members(groups: array[int]) -> Iterator[list[int]]:
    """Yield the places of each group's records, of group 0 first; *groups* has the group of each record."""
    numbers = np.array(groups, np.int64)
    places = np.argsort(numbers, kind="stable").tolist()
    first = 0
    for end in np.cumsum(np.bincount(numbers)).tolist():
        yield places[first:end]
        first = end
