"""Differences to a reference point on the same sessions and seeds, with intervals by resampling sessions.

All points draw the same random numbers, so that a difference is free of the chance that both share.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import pyarrow as pa

from scenarios.comparison.resample import F64, I64, Estimator, estimate, interval, quantiles, ratio, weights
from scenarios.comparison.resample import differences as rounded_differences
from scenarios.sweep.work import Kept
from simulator.metrics import percentile_name

CONFIDENCE = 0.95
MIN_RESAMPLES, MAX_RESAMPLES = 200, 1000
_DRAWS = 4_000_000
"""Resamples times attempts: bounds the time that a point takes."""
PERCENTILES = (50.0, 90.0, 95.0, 99.0)
_TIMES = ("ttft", "tpot", "e2el")


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A figure of a point less that of the reference; low and high None where sessions cannot be resampled."""

    value: float
    low: float | None
    high: float | None


Run = tuple[Kept, pa.Table]
"""What is kept of a run, and its attempts."""


def comparable(point: Sequence[Kept], reference: Sequence[Kept]) -> bool:
    """Whether runs of two points, seed by seed, are of the same sessions."""
    return all(a.sessions == b.sessions and a.sessions != "" for a, b in zip(point, reference, strict=True))


def differences(
    point: Sequence[Run], reference: Sequence[Run], seed: int
) -> tuple[dict[str, Difference], list[dict[str, Difference]]]:
    """Point less reference by figure: of the mean over seeds, and of each seed.

    Runs are in the order of the seeds. Each resample draws the same sessions in all of them; *seed* is that of the
    resampling.
    """
    by_seed = [_resampled(one, seed) for one in point]
    theirs = [_resampled(one, seed) for one in reference]
    gaps = [{name: rounded_differences(b[name], a[name]) for name in a} for a, b in zip(by_seed, theirs, strict=True)]
    each = [_summed(one) for one in gaps]
    if len(gaps) == 1:
        return each[0], each
    return _summed({name: np.mean([one[name] for one in gaps], axis=0) for name in gaps[0]}), each


def resamples_for(n_attempts: int) -> int:
    """How many resamples a point of *n_attempts* gets: fewer for long recordings."""
    return int(np.clip(_DRAWS // max(1, n_attempts), MIN_RESAMPLES, MAX_RESAMPLES))


def _resampled(run: Run, seed: int) -> dict[str, F64]:
    """Figures of *run* as it is (index 0) and under each resample."""
    kept, table = run
    count = resamples_for(table.num_rows)
    return estimate(_estimators(kept, table), weights(kept.n_sessions, count, seed, "sweep"))


def _summed(gaps: dict[str, F64]) -> dict[str, Difference]:
    found = {}
    for name, values in gaps.items():
        if np.isnan(values[0]):
            continue
        bounds = interval(values, CONFIDENCE)
        low, high = bounds if bounds is not None else (None, None)
        found[name] = Difference(value=float(values[0]), low=low, high=high)
    return found


def _estimators(kept: Kept, table: pa.Table) -> list[Estimator]:
    columns = {name: table.column(name).to_numpy() for name in table.column_names}
    owner = columns["session"].astype(np.int64)
    size = kept.n_sessions

    def by_session(values: F64) -> F64:
        return np.bincount(owner, values, size).astype(np.float64)

    gpu_s = by_session(columns["gpu_s"])
    present = (np.bincount(owner, minlength=size) > 0).astype(np.float64)
    ratios = {
        "usd_per_1000_sessions": ratio(gpu_s * kept.usd_per_s * 1e3, present),
        "C_total_s": ratio(gpu_s, by_session(columns["accepted"].astype(np.float64))),
    }
    found: list[Estimator] = [lambda drawn: {name: one(drawn) for name, one in ratios.items()}]
    for name in _TIMES:
        values = np.where(columns["measured"], columns[f"{name}_s"].astype(np.float64) * 1e3, np.nan)
        found.append(_distribution(f"{name}_ms", values, owner, size))
    return found


def _distribution(name: str, values: F64, owner: I64, size: int) -> Estimator:
    known = ~np.isnan(values)
    sums = np.bincount(owner[known], values[known], size).astype(np.float64)
    mean = ratio(sums, np.bincount(owner[known], minlength=size).astype(np.float64))
    marks = quantiles(values, owner, size, PERCENTILES)

    def under(drawn: F64) -> dict[str, F64]:
        named = dict(zip((f"{percentile_name(p)}_{name}" for p in PERCENTILES), marks(drawn), strict=True))
        return {f"mean_{name}": mean(drawn), **named}

    return under
