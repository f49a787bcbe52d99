"""Bootstrap over sessions: how often each session is drawn, and statistics under such weights.

Row 0 of the weights is one for each session, so that estimates at index 0 are those of the run as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simulator import rng

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

Estimator = Callable[[F64], dict[str, F64]]
"""From weights of shape (resamples, sessions) to metrics, each of shape (resamples,)."""

MAX_RESAMPLES = 2000
MIN_RESAMPLES = 200
_MAX_DRAWS = 100_000_000
"""Resamples times attempts: bounds the time."""
ROUNDING = 1e-9
"""Share of a value below which a difference is taken for rounding."""
_CHUNK_DRAWS = 4_000_000
"""Resamples times sessions at once: bounds memory."""
_MAX_CELLS = 8_000_000
_MAX_BLOCKS = 128
"""Sessions times blocks, and blocks, in which values are counted."""


def resamples_for(n_attempts: int) -> int:
    """How many resamples runs of *n_attempts* attempts get: fewer for long ones."""
    return int(np.clip(_MAX_DRAWS // max(1, n_attempts), MIN_RESAMPLES, MAX_RESAMPLES))


def weights(n_sessions: int, resamples: int, seed: int, name: str) -> Iterator[F64]:
    """How often each session is drawn, in pieces of shape (some, n_sessions); the first row is all ones."""
    draws = rng.generator(seed, "bootstrap", "comparison", name)
    yield np.ones((1, n_sessions))
    size = max(1, _CHUNK_DRAWS // max(1, n_sessions))
    for start in range(0, resamples, size):
        count = min(size, resamples - start)
        drawn = draws.integers(0, n_sessions, size=(count, n_sessions))
        drawn += np.arange(count)[:, None] * n_sessions
        times = np.bincount(drawn.ravel(), minlength=count * n_sessions)
        yield times.reshape(count, n_sessions).astype(np.float64)


def estimate(estimators: Sequence[Estimator], pieces: Iterator[F64]) -> dict[str, F64]:
    """All metrics of *estimators* under each weighting."""
    found: dict[str, list[F64]] = {}
    for piece in pieces:
        for one in estimators:
            for name, values in one(piece).items():
                found.setdefault(name, []).append(values)
    return {name: np.concatenate(parts) for name, parts in found.items()}


def ratio(numerator: F64, denominator: F64) -> Callable[[F64], F64]:
    """Sum over sessions of *numerator* over that of *denominator*; NaN where that is 0."""

    def under(weights: F64) -> F64:
        below = weights @ denominator
        with np.errstate(divide="ignore", invalid="ignore"):
            result: F64 = np.where(below != 0, (weights @ numerator) / below, np.nan)
        return result

    return under


def quantiles(values: F64, owner: I64, n_sessions: int, percentiles: Sequence[float]) -> Callable[[F64], list[F64]]:
    """Percentiles, linear between order statistics, of *values* drawn as often as the session that owns them.

    NaN values are left out. The result has an array for each of *percentiles*; NaN where nothing is drawn.
    """
    ranked = Ranked.of(values, owner, n_sessions)
    shares = np.array(percentiles, dtype=np.float64) / 100

    def under(weights: F64) -> list[F64]:
        if not ranked.values.size:
            return [np.full(len(weights), np.nan) for _ in percentiles]
        upto = weights @ ranked.upto
        last = np.maximum(upto[:, -1:] - 1, 0)
        place = last * shares
        below = np.floor(place)
        ranks = np.concatenate([below, np.minimum(below + 1, last)], axis=1)
        low, high = np.split(ranked.at(ranks, upto, weights), 2, axis=1)
        return list(np.where(upto[:, -1:] > 0, low + (high - low) * (place - below), np.nan).T)

    return under


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """Values in order, in blocks, so that an order statistic under weights is found without looking at all."""

    values: F64
    owners: I64
    """The session of each value."""
    size: int
    """Values in a block."""
    upto: F64
    """Values of each session before the end of each block, shape (sessions, blocks)."""

    @classmethod
    def of(cls, values: F64, owner: I64, n_sessions: int) -> Ranked:
        """The defined *values*, each of the session *owner*."""
        known = np.flatnonzero(~np.isnan(values))
        order = known[np.argsort(values[known], kind="stable")]
        blocks = int(np.clip(_MAX_CELLS // max(1, n_sessions), 1, min(_MAX_BLOCKS, max(1, order.size))))
        size = max(1, -(-order.size // blocks))
        cells = owner[order] * blocks + np.arange(order.size) // size
        counts = np.bincount(cells, minlength=n_sessions * blocks).reshape(n_sessions, blocks)
        return cls(values[order], owner[order], size, counts.cumsum(axis=1).astype(np.float64))

    def at(self, ranks: F64, upto: F64, weights: F64) -> F64:
        """The values at *ranks* (from 0), shape (resamples, ranks), where *upto* are drawn up to each block."""
        found = np.empty_like(ranks)
        rows = np.arange(len(weights))
        for column, rank in enumerate(ranks.T):
            block = np.minimum((upto <= rank[:, None]).sum(axis=1), upto.shape[1] - 1)
            before = np.where(block > 0, upto[rows, np.maximum(block - 1, 0)], 0.0)
            inside = np.minimum(block[:, None] * self.size + np.arange(self.size), self.values.size - 1)
            drawn = weights[rows[:, None], self.owners[inside]].cumsum(axis=1)
            within = (drawn <= (rank - before)[:, None]).sum(axis=1)
            found[:, column] = self.values[inside[rows, np.minimum(within, self.size - 1)]]
        return found


def differences(a: F64, b: F64) -> F64:
    """B - a, 0 where that is the rounding of sums."""
    found = b - a
    return np.where(np.abs(found) <= ROUNDING * np.maximum(np.abs(a), np.abs(b)), 0.0, found)


def interval(differences: F64, confidence_level: float) -> tuple[float, float] | None:
    """Percentile interval of resampled *differences*, index 0 left out; None if fewer than half are defined."""
    known = differences[1:]
    known = known[~np.isnan(known)]
    if not known.size or known.size * 2 < differences.size - 1:
        return None
    tail = (1 - confidence_level) / 2
    low, high = np.quantile(known, [tail, 1 - tail])
    return float(low), float(high)
