"""Numbers that each occur a number of times: distributions too long to write out, or to look at all at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from simulator.longcolumns import PART, LongColumn, let_go
from simulator.sums import long_sum

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Counts = npt.NDArray[np.integer[Any]]

_BIN_BITS = 42
"""Numbers whose bits are equal but for so many of the last are looked at together: those within a thousandth."""


@dataclass(frozen=True, slots=True, eq=False)
class Weighted:
    """A multiset: ``values[i] * factor`` occurs ``counts[i]`` times; they are finite, in any order, and may repeat.

    Sums go without BLAS, whose order of adding, and so the last digit, depends on the number of its threads.
    """

    values: F64
    counts: Counts
    factor: float = 1.0
    zeros: tuple[int, ...] = ()
    """Further zeros, in groups."""

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return int(self.counts.sum()) + sum(self.zeros)

    def mean(self) -> float:
        """Their mean; there must be some."""
        return self._sum(lambda values, counts: values * counts) / self.size

    def std(self) -> float:
        """Their standard deviation, that of the numbers themselves (divided by their count)."""
        mean = self.mean()
        return float(np.sqrt(self._sum(lambda values, counts: (values - mean) ** 2 * counts) / self.size))

    def max(self) -> float:
        """The largest; there must be some."""
        return max(float(values[counts > 0].max(initial=-np.inf)) for values, counts in self._parts())

    def percentiles(self, marks: Sequence[float]) -> F64:
        """Percentiles, linear between order statistics, as numpy.percentile has them; there must be numbers."""
        last = self.size - 1
        place = np.asarray(marks, dtype=np.float64) / 100 * last
        low = np.floor(place).astype(np.int64)
        below, above = np.split(self._ordered(np.append(low, np.minimum(low + 1, last))), 2)
        share = place - low
        step = above - below
        return np.where(share < 0.5, below + step * share, above - step * (1 - share))

    def median(self) -> float:
        """The middle number, or the mean of the two in the middle."""
        size = self.size
        return float(self._ordered(np.array([(size - 1) // 2, size // 2])).mean())

    def with_zeros(self, count: int) -> Weighted:
        """The same and *count* zeros."""
        return replace(self, zeros=(*self.zeros, count))

    def scaled(self, factor: float) -> Weighted:
        """Each number times *factor*."""
        return replace(self, factor=self.factor * factor)

    def expand(self) -> F64:
        """All numbers, in ascending order."""
        return np.sort(np.concatenate([np.repeat(*part) for part in self._parts()]))

    def _piece(self, first: int, last: int) -> tuple[F64, Counts]:
        """Entries from one place to another, the groups of zeros behind all others."""
        values, counts = self.values[first:last] * self.factor, self.counts[first:last]
        behind = self.zeros[max(0, first - self.values.size) : max(0, last - self.values.size)]
        if behind:
            values = np.append(values, np.zeros(len(behind)))
            counts = np.append(counts, np.array(behind, dtype=np.int64))
        return values, counts

    def _parts(self) -> Iterator[tuple[F64, Counts]]:
        """All entries, in parts."""
        size = self.values.size + len(self.zeros)
        for first in range(0, max(1, size), PART):
            yield self._piece(first, min(size, first + PART))
            let_go(self.values, self.counts)

    def _sum(self, of: Callable[[F64, Counts], F64]) -> float:
        """Sum of what *of* makes of each entry's value and count."""
        return long_sum(self.values.size + len(self.zeros), lambda first, last: of(*self._piece(first, last)))

    def _ordered(self, ranks: I64) -> F64:
        """The numbers of *ranks*, counted from 0 in ascending order."""
        if self.values.size <= PART:
            return _of_ranks(*self._piece(0, self.values.size + len(self.zeros)), ranks)
        upto = np.zeros(1 << (64 - _BIN_BITS), dtype=np.int64)
        for values, counts in self._parts():
            bins, place = np.unique(_bins(values), return_inverse=True)
            upto[bins] += np.bincount(place, counts).astype(np.int64)
        np.cumsum(upto, out=upto)
        found = np.empty(ranks.size)
        wanted = np.searchsorted(upto, ranks, side="right")
        for one, (values, counts) in self._of_bins(np.unique(wanted)).items():
            mine = wanted == one
            before = int(upto[one - 1]) if one else 0
            found[mine] = _of_ranks(values, counts, ranks[mine] - before)
        return found

    def _of_bins(self, wanted: I64) -> dict[int, tuple[F64, I64]]:
        """The entries in each of the *wanted* bins, equal ones together."""
        gathered: dict[int, list[tuple[F64, I64]]] = {one: [] for one in wanted.tolist()}
        for values, counts in self._parts():
            bins = _bins(values)
            for one, parts in gathered.items():
                mine = bins == one
                if mine.any():
                    parts.append(_distinct(values[mine], counts[mine]))
        return {
            one: _distinct(*(np.concatenate(column) for column in zip(*parts, strict=True)))
            for one, parts in gathered.items()
        }


NOTHING = Weighted(np.empty(0), np.empty(0, dtype=np.int64))


def joined(parts: Sequence[Weighted]) -> Weighted:
    """All numbers of *parts*."""
    if not parts:
        return NOTHING
    if len(parts) == 1:
        return parts[0]
    values, counts = LongColumn(np.float64), LongColumn(np.int64)
    for part in parts:
        for some, times in part._parts():
            values.append(some)
            counts.append(times)
    return Weighted(values.array(), counts.array())


def _of_ranks(values: F64, counts: Counts, ranks: I64) -> F64:
    order = np.argsort(values, kind="stable")
    upto = np.cumsum(counts[order], dtype=np.int64)
    found: F64 = values[order[np.searchsorted(upto, ranks, side="right")]]
    return found


def _bins(values: F64) -> I64:
    """Numbers that rise with *values*, one for all that share their leading bits."""
    bits = (values + 0.0).view(np.int64)  # of -0.0, those of 0.0
    rising = np.where(bits < 0, ~bits ^ np.int64(-1 << 63), bits)
    return (rising >> _BIN_BITS) + (1 << (63 - _BIN_BITS))


def _distinct(values: F64, counts: Counts) -> tuple[F64, I64]:
    """Each of *values* once, with all of its counts."""
    found, place = np.unique(values, return_inverse=True)
    return found, np.bincount(place, counts).astype(np.int64)
