"""Numbers that each occur a number of times: distributions too long to write out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Weighted:
    """A multiset: ``values[i]`` occurs ``counts[i]`` times; values are finite, in any order, and may repeat.

    Sums go without BLAS, whose order of adding, and so the last digit, depends on the number of its threads.
    """

    values: F64
    counts: I64

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return int(self.counts.sum())

    def mean(self) -> float:
        """Their mean; there must be some."""
        return float(np.sum(self.values * self.counts)) / self.size

    def std(self) -> float:
        """Their standard deviation, that of the numbers themselves (divided by their count)."""
        return float(np.sqrt(np.sum((self.values - self.mean()) ** 2 * self.counts) / self.size))

    def max(self) -> float:
        """The largest; there must be some."""
        return float(self.values[self.counts > 0].max())

    def percentiles(self, marks: Sequence[float]) -> F64:
        """Percentiles, linear between order statistics, as numpy.percentile has them; there must be numbers."""
        last = self.size - 1
        place = np.asarray(marks, dtype=np.float64) / 100 * last
        low = np.floor(place).astype(np.int64)
        below, above = self._ordered(low), self._ordered(np.minimum(low + 1, last))
        share = place - low
        step = above - below
        return np.where(share < 0.5, below + step * share, above - step * (1 - share))

    def median(self) -> float:
        """The middle number, or the mean of the two in the middle."""
        size = self.size
        return float(self._ordered(np.array([(size - 1) // 2, size // 2])).mean())

    def with_zeros(self, count: int) -> Weighted:
        """The same and *count* zeros."""
        return Weighted(np.append(self.values, 0.0), np.append(self.counts, count))

    def scaled(self, factor: float) -> Weighted:
        """Each number times *factor*."""
        return Weighted(self.values * factor, self.counts)

    def expand(self) -> F64:
        """All numbers, in ascending order."""
        return np.sort(np.repeat(self.values, self.counts))

    def _ordered(self, ranks: I64) -> F64:
        """The numbers of *ranks*, counted from 0 in ascending order."""
        order = np.argsort(self.values, kind="stable")
        upto = self.counts[order]
        np.cumsum(upto, out=upto)
        found: F64 = self.values[order[np.searchsorted(upto, ranks, side="right")]]
        return found


NOTHING = Weighted(np.empty(0), np.empty(0, dtype=np.int64))


def joined(parts: Sequence[Weighted]) -> Weighted:
    """All numbers of *parts*."""
    if not parts:
        return NOTHING
    values, counts = (np.concatenate(column) for column in zip(*((p.values, p.counts) for p in parts), strict=True))
    return Weighted(values, counts)
