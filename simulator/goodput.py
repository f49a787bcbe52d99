"""Goodput: requests, and their tokens, that meet every latency objective at once, as vLLM's benchmark counts them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from simulator.metrics import attempt_latencies
from simulator.replay import Replay
from simulator.slo import VALUES, SloMetric
from simulator.window import Window
from simulator.workload import Workload
from traces.choice import not_one_of

if TYPE_CHECKING:
    from simulator.slo import Column

F64 = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Slo:
    """A limit in seconds; a request at the limit meets it."""

    metric: SloMetric
    limit_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SloResult:
    """One objective: which share of the requests meets it, and the value that the wanted share stays within."""

    slo: Slo
    attainment: float
    value_s: float | None
    """The quantile of the metric at the wanted attainment; None if no request has the metric."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoodputResult:
    """All objectives together. Shares are of the requests sent; refused ones meet nothing."""

    slos: tuple[SloResult, ...]
    attainment: float
    """Share of requests that meet all objectives."""
    good_requests: int
    """Accepted requests that meet all."""
    request_goodput_per_s: float
    token_goodput_per_s: float
    """Their output tokens per second."""


def parse_goodput(texts: Iterable[str]) -> tuple[Slo, ...]:
    """Read ``ttft:500`` (milliseconds), several separated by commas or blanks. Raises ValueError."""
    slos: dict[SloMetric, Slo] = {}
    for text in texts:
        for part in text.replace(",", " ").split():
            name, _, limit = part.partition(":")
            if name not in list(SloMetric):
                raise ValueError(f"--goodput {part!r}: {not_one_of(name, SloMetric)}")
            try:
                limit_ms = float(limit)
            except ValueError:
                raise ValueError(f"--goodput {part!r}: write METRIC:MILLISECONDS, for example ttft:500") from None
            if not limit_ms >= 0:
                raise ValueError(f"--goodput {part!r}: the limit must not be negative")
            metric = SloMetric(name)
            if metric in slos:
                raise ValueError(f"--goodput {part!r}: {name} is given twice")
            slos[metric] = Slo(metric, limit_ms / 1e3)
    return tuple(slos.values())


def attempt_values(metric: SloMetric, of: Column, done: npt.NDArray[np.bool_]) -> F64:
    """The metric of each attempt in seconds: 0 where a request has none, infinite for those that are not *done*.

    So a single token meets TPOT and ITL, as in vLLM's benchmark.
    """
    return np.where(done, np.nan_to_num(VALUES[metric](of), nan=0.0, posinf=np.inf), np.inf)


def slo_values(replay: Replay, metric: SloMetric) -> F64:
    """The metric of each attempt of *replay* in seconds; infinite for a refused one."""
    found = attempt_latencies(replay)
    return attempt_values(metric, found.__getitem__, replay.done)


def goodput(
    replay: Replay, workload: Workload, measured: Window, slos: tuple[Slo, ...], wanted_attainment: float
) -> GoodputResult:
    """Which requests of the *measured* part meet *slos*; rejected attempts count for attainment, not for goodput."""
    meets_all = measured.attempts.copy()
    results = []
    n_sent = max(1, int(measured.attempts.sum()))
    for slo in slos:
        values = slo_values(replay, slo.metric)
        meets = values <= slo.limit_s
        meets_all &= meets
        mine = values[measured.attempts]
        quantile = float(np.quantile(mine, wanted_attainment, method="inverted_cdf")) if mine.size else np.inf
        share = float((meets & measured.attempts).sum()) / n_sent
        results.append(SloResult(slo=slo, attainment=share, value_s=quantile if np.isfinite(quantile) else None))
    good = meets_all & ~workload.attempt_rejected
    duration_s = max(measured.duration_s, 1e-12)
    return GoodputResult(
        slos=tuple(results),
        attainment=float(meets_all.sum()) / n_sent,
        good_requests=int(good.sum()),
        request_goodput_per_s=float(good.sum()) / duration_s,
        token_goodput_per_s=float(replay.output_tokens[good].sum()) / duration_s,
    )
