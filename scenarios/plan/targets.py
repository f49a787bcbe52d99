"""Latency targets of a plan: what a percentile of a metric must stay within, and whether a replay does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec
import numpy as np

from scenarios.options.replay import OptionError
from scenarios.resolve.measure import Measure
from simulator.goodput import goodput
from simulator.metrics import F64, attempt_latencies, gaps_of, session_latencies
from simulator.replay import Replay
from simulator.slo import VALUES, SloMetric
from simulator.window import Window
from simulator.workload import Workload
from traces.choice import not_one_of

SESSION = "session"
"""The time from a user's first request to the last token, tools included."""
TARGET_METRICS = (*SloMetric, SESSION)
"""What a target can be set for: what an objective can, and the time of a session."""


@dataclass(frozen=True, slots=True)
class Target:
    """At least *percentile* per cent of the values are at most *limit_s*."""

    metric: str
    percentile: float
    limit_s: float

    @property
    def name(self) -> str:
        """As in a table: ``ttft p99``."""
        return f"{self.metric} p{self.percentile:g}"


class TargetResult(msgspec.Struct, frozen=True, kw_only=True):
    """A target beside what a replay came to."""

    name: str
    limit: float
    """Milliseconds; for goodput the share wanted."""
    value: float | None
    """None: so many requests were refused that there is no such value."""
    met: bool

    @property
    def over(self) -> float:
        """How far the value is on the wrong side of the limit, relative to it; infinite without a value."""
        if self.value is None:
            return float("inf")
        over = (self.value - self.limit) / self.limit if self.limit else float("inf")
        return -over if self.name == GOODPUT else over


GOODPUT = "goodput"


def parse_targets(texts: Iterable[str]) -> tuple[Target, ...]:
    """Read ``ttft:p99:2000`` (milliseconds), several separated by commas. Raises OptionError."""
    found: dict[tuple[str, float], Target] = {}
    for text in texts:
        for part in text.split(","):
            target = _target(part.strip())
            key = (target.metric, target.percentile)
            if key in found:
                raise OptionError(f"--target {part!r}: {target.name} is given twice")
            found[key] = target
    return tuple(found.values())


def _target(text: str) -> Target:
    metric, _, rest = text.partition(":")
    percentile, _, limit = rest.partition(":")
    if metric not in TARGET_METRICS:
        raise OptionError(f"--target {text!r}: {not_one_of(metric, TARGET_METRICS)}")
    try:
        rank, limit_ms = float(percentile.removeprefix("p")), float(limit)
    except ValueError:
        raise OptionError(
            f"--target {text!r}: write METRIC:pPERCENTILE:MILLISECONDS, for example ttft:p99:2000"
        ) from None
    if not 0 < rank <= 100:
        raise OptionError(f"--target {text!r}: the percentile is {rank:g}; it must be above 0 and at most 100")
    if not 0 < limit_ms < float("inf"):
        raise OptionError(f"--target {text!r}: the limit is {limit_ms:g} ms; it must be above 0")
    return Target(metric, rank, limit_ms / 1e3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Objectives:
    """All that a plan must meet: percentile targets, and goodput if *measure* has objectives."""

    targets: tuple[Target, ...]
    measure: Measure

    @property
    def names(self) -> list[str]:
        """One line each, with the limit."""
        named = [f"{one.name} <= {one.limit_s * 1e3:g} ms" for one in self.targets]
        if self.measure.slos:
            limits = " ".join(f"{slo.metric}:{slo.limit_s * 1e3:g}" for slo in self.measure.slos)
            named.append(f"goodput ({limits}) >= {self.measure.slo_attainment:g}")
        return named

    def judged(self, replay: Replay, workload: Workload, measured: Window) -> list[TargetResult]:
        """Each of them on the *measured* part of *replay*."""
        found = [_judged(one, replay, measured) for one in self.targets]
        if self.measure.slos:
            wanted = self.measure.slo_attainment
            share = goodput(replay, workload, measured, self.measure.slos, wanted).attainment
            found.append(TargetResult(name=GOODPUT, limit=wanted, value=share, met=share >= wanted))
        return found


def _judged(target: Target, replay: Replay, measured: Window) -> TargetResult:
    value_s = value_of(target, replay, measured)
    met = value_s is not None and value_s <= target.limit_s
    return TargetResult(
        name=target.name, limit=target.limit_s * 1e3, value=None if value_s is None else value_s * 1e3, met=met
    )


def value_of(target: Target, replay: Replay, measured: Window) -> float | None:
    """The least value that the target's share of the measured ones stays within (inverse of the distribution).

    Refused requests count as infinitely late; None where they reach that share, or nothing was measured.
    """
    if target.metric == SloMetric.ITL:
        gaps = gaps_of(replay, measured.attempts)
        refused = bool(replay.refused[measured.attempts].any())
        return float(gaps.percentiles([target.percentile])[0]) if gaps.size and not refused else None
    values = _values(target.metric, replay, measured)
    if not values.size:
        return None
    value = float(np.quantile(values, target.percentile / 100, method="inverted_cdf"))
    return value if np.isfinite(value) else None


def _values(metric: str, replay: Replay, measured: Window) -> F64:
    if metric == SESSION:
        return session_latencies(replay)[measured.sessions]
    kept = measured.attempts
    found = attempt_latencies(replay)
    values = np.where(replay.refused, np.inf, VALUES[SloMetric(metric)](found.__getitem__))[kept]
    return values[~np.isnan(values)]
