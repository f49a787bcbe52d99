"""Limits that a comparison is held against: objectives that B must meet, and how much worse it may be than A."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from scenarios.answer import Answer
from scenarios.comparison.document import Better, Gate, Metric, Objective
from scenarios.comparison.metrics import meets
from scenarios.comparison.rows import Rows
from scenarios.options.replay import OptionError
from scenarios.runs.runparts import SloRow
from simulator.goodput import Slo, attempt_values
from traces.choice import did_you_mean

DEFAULT_GATES = ("p50_e2el_ms", "p99_e2el_ms", "p50_session_s", "C_total_usd_per_1000_turns")
"""What a limit without a metric stands for."""
ALL = "all"


def parse_limits(texts: Sequence[str], known: Sequence[str]) -> dict[str, float]:
    """Limits in per cent by metric: ``5`` for DEFAULT_GATES, ``p99_ttft_ms:5`` for one. Raises OptionError."""
    limits: dict[str, float] = {}
    for text in (part for given in texts for part in given.replace(",", " ").split()):
        name, colon, percent = text.rpartition(":")
        try:
            limit = float(percent)
        except ValueError:
            limit = math.nan
        if not (0 <= limit < math.inf):
            raise OptionError(f"--fail-if-worse {text!r}: write PERCENT or METRIC:PERCENT, for example p99_ttft_ms:5")
        names = (name,) if colon else tuple(one for one in DEFAULT_GATES if one in known)
        for one in names:
            if one not in known:
                guess = did_you_mean(one, known, f"metrics are {', '.join(known)}")
                raise OptionError(f"--fail-if-worse {text!r}: {one!r} is no metric of this comparison; {guess}")
            if colon or one not in limits:
                limits[one] = limit
    return limits


def gates(limits: dict[str, float], metrics: Sequence[Metric]) -> list[Gate]:
    """Each limit with how much worse B is. A limit on what A has and B lacks, or that grew from 0, is missed."""
    by_key = {metric.key: metric for metric in metrics}
    return [_gate(by_key[name], limit) for name, limit in limits.items()]


def _gate(metric: Metric, limit: float) -> Gate:
    sign = 1 if metric.better is Better.LOWER else -1
    worse = None if metric.relative is None else sign * metric.relative * 100
    if worse is not None:
        met = worse <= limit
    elif metric.difference is None:
        met = metric.a is None
    else:
        met = sign * metric.difference <= 0
    return Gate(metric=metric.key, label=metric.label, limit_percent=limit, worse_percent=worse, met=met)


def objectives(a: Rows | None, b: Rows, slos: Sequence[Slo], wanted: float) -> list[Objective]:
    """Each of *slos*, then all together, from the tables; *wanted* is the share of requests that must be within."""
    found = []
    for slo in slos:
        values = attempt_values(slo.metric, b.column, b.done)[b.measured]
        at = float(np.quantile(values, wanted, method="inverted_cdf")) if values.size else math.inf
        shares = [_share(one, [slo]) for one in (a, b)]
        found.append(_objective(slo.metric.value, slo.limit_s * 1e3, wanted, shares, at * 1e3))
    if slos:
        shares = [_share(one, slos) for one in (a, b)]
        found.append(_objective(ALL, None, wanted, shares, math.inf))
    return found


def _share(rows: Rows | None, slos: Sequence[Slo]) -> float | None:
    if rows is None:
        return None
    return float((meets(rows, slos) & rows.measured).sum()) / max(1, int(rows.measured.sum()))


def _objective(
    metric: str, limit_ms: float | None, wanted: float, shares: Sequence[float | None], value_ms: float
) -> Objective:
    of_a, of_b = shares
    assert of_b is not None
    return Objective(
        metric=metric,
        limit_ms=limit_ms,
        wanted_attainment=wanted,
        attainment_a=of_a,
        attainment_b=of_b,
        value_ms_b=value_ms if math.isfinite(value_ms) else None,
        met=of_b >= wanted,
    )


def stored_objectives(a: Answer, b: Answer, wanted: float) -> list[Objective]:
    """The objectives that B was replayed with, from the summaries; A's attainment where it had the same."""
    of_b, of_a = b.replay.goodput, a.replay.goodput
    if of_b is None:
        return []
    limits = {} if of_a is None else {one.metric: one for one in of_a.slos}
    found = [
        _objective(
            one.metric,
            one.limit_ms,
            wanted,
            [limits[one.metric].attainment if _same(limits.get(one.metric), one.limit_ms) else None, one.attainment],
            one.value_ms if one.value_ms is not None and wanted == of_b.slo_attainment else math.inf,
        )
        for one in of_b.slos
    ]
    same = (
        of_a is not None
        and len(limits) == len(of_b.slos)
        and all(_same(limits.get(one.metric), one.limit_ms) for one in of_b.slos)
    )
    together = of_a.attainment if of_a is not None and same else None
    return [*found, _objective(ALL, None, wanted, [together, of_b.attainment], math.inf)]


def _same(slo: SloRow | None, limit_ms: float) -> bool:
    return slo is not None and math.isclose(slo.limit_ms, limit_ms)
