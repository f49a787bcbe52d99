"""Lengths counted by value, so that groups can be added up and their percentiles stay exact."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from itertools import accumulate

import msgspec


class Lengths(msgspec.Struct, frozen=True, kw_only=True):
    """How lengths in tokens are distributed; None where there is none. Percentiles are interpolated linearly."""

    count: int
    mean: float | None
    p50: float | None
    p90: float | None
    p99: float | None
    max: int | None


class LengthCounts:
    """How often each length occurs."""

    __slots__ = ("counts",)

    def __init__(self, lengths: Iterable[int] = ()) -> None:
        self.counts: Counter[int] = Counter(lengths)

    def add(self, lengths: Iterable[int]) -> None:
        """Count *lengths*."""
        self.counts.update(lengths)

    def merge(self, other: LengthCounts) -> None:
        """Add the counts of *other*."""
        self.counts.update(other.counts)

    def summary(self) -> Lengths:
        """The distribution of what was counted."""
        if not self.counts:
            return Lengths(count=0, mean=None, p50=None, p90=None, p99=None, max=None)
        values = sorted(self.counts)
        upto = list(accumulate(self.counts[value] for value in values))
        count = upto[-1]
        total = sum(length * times for length, times in self.counts.items())

        def percentile(share: float) -> float:
            rank = share * (count - 1)
            low = values[bisect_right(upto, int(rank))]
            high = values[bisect_right(upto, min(int(rank) + 1, count - 1))]
            return low + (high - low) * (rank - int(rank))

        return Lengths(
            count=count,
            mean=total / count,
            p50=percentile(0.5),
            p90=percentile(0.9),
            p99=percentile(0.99),
            max=values[-1],
        )
