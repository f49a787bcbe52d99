"""Distributions as sorted values and weighted choices: what a fit keeps of a recording."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence

import msgspec
import numpy as np

from simulator import rng

MAX_POINTS = 512
"""Values kept of a distribution; more are thinned to evenly spaced quantiles."""
_BATCH = 256


class Empirical(msgspec.Struct, frozen=True):
    """A distribution given by its sorted values, all equally likely."""

    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Iterable[float]) -> Empirical | None:
        """The distribution of *values*; None without any."""
        found = np.sort(np.fromiter(values, np.float64))
        if not found.size:
            return None
        if found.size > MAX_POINTS:
            places = (np.arange(MAX_POINTS) + 0.5) / MAX_POINTS * found.size
            found = found[places.astype(np.int64)]
        return cls(tuple(found.tolist()))

    def at(self, unit: float) -> float:
        """The value at *unit* of [0, 1)."""
        return self.values[int(unit * len(self.values))]

    @property
    def mean(self) -> float:
        """Mean value."""
        return sum(self.values) / len(self.values)


class Choice(msgspec.Struct, frozen=True):
    """Options with the upper end of each one's share of [0, 1]."""

    options: tuple[str, ...]
    ends: tuple[float, ...]

    @classmethod
    def of(cls, weights: Mapping[str, float]) -> Choice:
        """Options drawn in proportion to *weights*, which must not be empty."""
        ends = np.cumsum(list(weights.values()), dtype=np.float64)
        return cls(tuple(weights), tuple((ends / ends[-1]).tolist()))

    def at(self, unit: float) -> str:
        """The option at *unit* of [0, 1)."""
        return self.options[min(bisect_right(self.ends, unit), len(self.options) - 1)]


class Source:
    """Uniform numbers of one place in the generated trace, whatever is generated before it."""

    def __init__(self, seed: int, *names: str | int) -> None:
        self._key = rng.key(seed, *names)
        self._used = 0
        self._left: list[float] = []

    @classmethod
    def many(cls, seed: int, places: Sequence[tuple[str | int, ...]]) -> list[Source]:
        """The sources of *places*, whose first numbers are drawn together: far faster than one by one."""
        found = [cls(seed, *names) for names in places]
        if not found:
            return found
        first = rng.uniform(np.array([[one._key] for one in found], np.uint64), np.arange(_BATCH, dtype=np.uint64))
        for one, numbers in zip(found, first.tolist(), strict=True):
            one._used, one._left = _BATCH, numbers
        return found

    def unit(self) -> float:
        """The next number in [0, 1)."""
        if not self._left:
            places = np.arange(self._used, self._used + _BATCH, dtype=np.uint64)
            self._used += _BATCH
            self._left = rng.uniform(np.array([self._key], np.uint64), places).tolist()
        return self._left.pop()

    def below(self, count: int) -> int:
        """A whole number from 0 to *count* - 1."""
        return int(self.unit() * count)

    def length(self, lengths: Empirical | None) -> int:
        """A length in tokens; 0 where no length was ever seen."""
        if lengths is None:
            return 0
        values = lengths.values
        return int(values[int(self.unit() * len(values))])
