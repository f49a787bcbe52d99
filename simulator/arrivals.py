"""When sessions arrive: at a constant rate, by a profile of hours, or as recorded."""

from __future__ import annotations

import numpy as np

from simulator import rng
from simulator.workload import F64, Workload

HOUR_S = 3600.0


def random_starts(count: int, rate_per_s: float, burstiness: float, seed: int) -> F64:
    """Starts of *count* sessions at *rate_per_s* on average, with gamma-distributed gaps of shape *burstiness*."""
    if np.isinf(rate_per_s):
        return np.zeros(count)
    gaps = rng.generator(seed, "arrivals").gamma(burstiness, 1 / (rate_per_s * burstiness), count)
    return np.cumsum(gaps)


def profile_starts(count: int, rates_per_s: tuple[float, ...], burstiness: float, seed: int) -> F64:
    """Starts of *count* sessions whose rate is ``rates_per_s[k]`` in hour k, the profile repeated after its end.

    Arrivals of rate 1 in operational time, mapped back through the cumulative rate: a Poisson process with that
    intensity at *burstiness* 1. Raises ValueError for a profile without any arrival.
    """
    rates = np.asarray(rates_per_s, dtype=np.float64)
    if not rates.size or np.any(rates < 0) or not rates.sum() > 0:
        raise ValueError("--arrival-profile needs hourly rates of 0 or more, one of them above 0")
    unit = np.cumsum(rng.generator(seed, "arrivals").gamma(burstiness, 1 / burstiness, count))
    grown = np.concatenate([[0.0], np.cumsum(rates * HOUR_S)])
    whole, rest = np.divmod(unit, grown[-1])
    hour = np.searchsorted(grown, rest, side="right") - 1
    within = (rest - grown[hour]) / rates[hour]
    starts: F64 = whole * rates.size * HOUR_S + hour * HOUR_S + within
    return starts


def recorded_starts(workload: Workload) -> F64:
    """Recorded start of each session: its own, or when its first turn was sent; missing ones follow the one before."""
    starts = workload.session_start_s.copy()
    first_sent = workload.turn_sent_s[np.minimum(workload.session_turns[:-1], workload.n_turns - 1)]
    starts = np.where(np.isnan(starts), first_sent, starts)
    if np.isnan(starts[0]):
        starts[0] = np.nanmin(starts) if not np.isnan(starts).all() else 0.0
    known = np.maximum.accumulate(np.where(np.isnan(starts), 0, np.arange(starts.size)))
    filled: F64 = starts[known]
    return filled
