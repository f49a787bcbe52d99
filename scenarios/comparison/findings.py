"""What a way of comparing finds, and how a difference becomes a row with its verdict."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from scenarios.comparison.document import Better, Breakdown, Metric, Objective, Pairing, Requests, Verdict
from scenarios.comparison.metrics import Kind
from scenarios.comparison.resample import differences
from simulator.goodput import Slo


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Resolved: what is looked at."""

    percentiles: tuple[float, ...]
    slos: tuple[Slo, ...]
    wanted_attainment: float
    """Share of the requests that must meet the objectives."""
    confidence_level: float
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """The part of a comparison that depends on whether attempts are known one by one."""

    pairing: Pairing
    reason: str
    metrics: list[Metric]
    breakdowns: list[Breakdown]
    objectives: list[Objective]
    resamples: int = 0
    requests: Requests | None = None
    warnings: list[str] = field(default_factory=list)


def metric_row(key: str, kind: Kind, a: float | None, b: float | None, interval: tuple[float, float] | None) -> Metric:
    """The row of one metric; *interval* is that of b - a."""
    difference = None if a is None or b is None else float(differences(np.array([a]), np.array([b]))[0])
    low, high = interval if interval is not None else (None, None)
    return Metric(
        key=key,
        label=kind.label,
        unit=kind.unit,
        better=kind.better,
        a=a,
        b=b,
        difference=difference,
        relative=difference / a if difference is not None and a else None,
        low=low,
        high=high,
        verdict=_verdict(kind.better, difference, interval),
    )


def _verdict(better: Better, difference: float | None, interval: tuple[float, float] | None) -> Verdict:
    if interval is None:
        return Verdict.NONE if difference == 0 else Verdict.NOT_JUDGED
    low, high = interval
    if low <= 0 <= high:
        return Verdict.NONE
    return Verdict.BETTER if (low > 0) == (better is Better.HIGHER) else Verdict.WORSE
