"""Records of many groups, kept in the order in which they are met, group by group.

They are in no list for each group: the garbage collector would look at those whenever it looks at everything.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Generic

import numpy as np
from numpy.typing import NDArray

from traces.heldrows import HeldRows, Row

_AT_A_TIME = 1 << 10
"""Groups whose places are lists at a time."""


class Groups(Generic[Row]):
    """Records of one *kind* by the names of their groups."""

    def __init__(self, kind: type[Row]) -> None:
        self._numbers: dict[str, int] = {}
        self._group = array("q")
        """Of each record."""
        self._rows = HeldRows(kind)
        self._names: list[str] = []
        self._added: list[Row] = []
        """The last records, and the names of their groups."""

    def add(self, name: str, row: Row) -> None:
        """Add a record to the group *name*. Raises SimtoolError where there is no room on disk for many."""
        self._names.append(name)
        self._added.append(row)
        if len(self._names) >= _AT_A_TIME:
            self._settle()

    def _settle(self) -> None:
        numbers = self._numbers
        self._group.extend([numbers.setdefault(name, len(numbers)) for name in self._names])
        self._rows.extend(self._added)
        self._names.clear()
        self._added.clear()

    def __iter__(self) -> Iterator[tuple[str, list[Row]]]:
        """The groups in the order in which they were first met, each with its records."""
        self._settle()
        for name, places in zip(self._numbers, members(self._group), strict=True):
            yield name, self._rows.of(places)


def members(groups: array[int] | NDArray[np.int64]) -> Iterator[list[int]]:
    """Yield the places of each group's records, of group 0 first; *groups* has the group of each record."""
    numbers = np.asarray(groups, np.int64)
    places = np.argsort(numbers, kind="stable")
    ends = np.cumsum(np.bincount(numbers))
    first = 0
    for some in range(0, len(ends), _AT_A_TIME):
        found = ends[some : some + _AT_A_TIME].tolist()
        listed = places[first : found[-1]].tolist()
        begin = 0
        for end in found:
            yield listed[begin : end - first]
            begin = end - first
        first = found[-1]
