"""The metrics that are compared: their names, units and directions, and how attempts give them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scenarios.comparison.document import Better
from scenarios.comparison.resample import F64, I64, Estimator, quantiles, ratio
from scenarios.comparison.rows import Bool, Rows
from scenarios.runs.metric import all_metrics
from simulator.goodput import Slo, attempt_values
from simulator.metrics import percentile_name

_LOWER, _HIGHER = Better.LOWER, Better.HIGHER


@dataclass(frozen=True, slots=True)
class Kind:
    """What a metric is."""

    label: str
    unit: str
    better: Better


LATENCIES = {"ttft": "TTFT", "tpot": "TPOT", "itl": "ITL a step", "request_itl": "ITL a request", "e2el": "E2EL"}
"""itl: gaps between engine steps; request_itl: their mean in each request."""

KINDS = {
    "request_throughput_per_s": Kind("requests", "1/s", _HIGHER),
    "output_throughput_tokens_per_s": Kind("output tokens", "1/s", _HIGHER),
    "C_total_s": Kind("C_total, GPU s per turn", "", _LOWER),
    "C_total_usd_per_1000_turns": Kind("C_total of 1,000 turns", "USD", _LOWER),
    "usd_per_1000_sessions": Kind("cost of 1,000 tasks", "USD", _LOWER),
    "provisioned_usd_per_1000_sessions": Kind("same, by wall time", "USD", _LOWER),
    "nu": Kind("nu (draws per turn)", "", _LOWER),
    "prefix_cache_hit_rate_tokens": Kind("hit rate h, of tokens", "%", _HIGHER),
    "prefix_cache_hit_rate_requests": Kind("hit rate, of requests", "%", _HIGHER),
    "tokens_per_round": Kind("tokens per round", "", _HIGHER),
    "draft_acceptance_rate": Kind("drafts accepted", "%", _HIGHER),
    "num_preemptions": Kind("preemptions", "", _LOWER),
    "goodput_attainment": Kind("within all objectives", "%", _HIGHER),
    "request_goodput_per_s": Kind("goodput, requests", "1/s", _HIGHER),
    "token_goodput_per_s": Kind("goodput, tokens", "1/s", _HIGHER),
}
"""All but the latencies and those of `scenarios.runs.metrics`; of a unit of % the values are per cent."""


def kinds(percentiles: Sequence[float], slos: Sequence[Slo]) -> dict[str, Kind]:
    """Every metric by its key, in the order of tables."""
    marks = ["mean", *map(percentile_name, percentiles)]
    found = {
        f"{mark}_{name}_ms": Kind(f"{label} {mark}", "ms", _LOWER)
        for name, label in LATENCIES.items()
        for mark in marks
    }
    found |= {f"{mark}_session_s": Kind(f"session {mark}", "s", _LOWER) for mark in marks}
    found |= {name: kind for name, kind in KINDS.items() if slos or "goodput" not in name}
    for one in all_metrics():
        found[one.name] = Kind(one.label, one.unit, _LOWER if one.lower_is_better else _HIGHER)
    return found


def estimators(
    rows: Rows, percentiles: Sequence[float], slos: Sequence[Slo], provisioned_usd: float
) -> list[Estimator]:
    """What computes all metrics of *rows*; those of single gaps between steps (itl) but for their mean are not known.

    *provisioned_usd* is the price of all GPUs over the whole run.
    """
    kept = rows.measured
    latencies = {f"{name}_ms": rows.column(f"{name}_s") * 1e3 for name in ("ttft", "tpot", "e2el")}
    latencies["request_itl_ms"] = rows.column("itl_per_step_s") * 1e3
    every = [
        _distribution(name, values[kept], rows.session[kept], rows, percentiles) for name, values in latencies.items()
    ]
    numbers = np.arange(rows.n_sessions)
    every.append(_distribution("session_s", rows.session_s, numbers, rows, percentiles))
    every.append(_ratios(rows))
    every.append(_rates(rows, slos, provisioned_usd))
    if slos:
        every.append(_attainment(rows, slos))
    return every


def _distribution(name: str, values: F64, owner: I64, rows: Rows, percentiles: Sequence[float]) -> Estimator:
    """Mean and percentiles of *values*."""
    known = ~np.isnan(values)
    sums = np.bincount(owner[known], values[known], rows.n_sessions)
    mean = ratio(sums.astype(np.float64), np.bincount(owner[known], minlength=rows.n_sessions).astype(np.float64))
    marks = quantiles(values, owner, rows.n_sessions, percentiles)

    def under(weights: F64) -> dict[str, F64]:
        found = {f"mean_{name}": mean(weights)}
        for percentile, values_at in zip(percentiles, marks(weights), strict=True):
            found[f"{percentile_name(percentile)}_{name}"] = values_at
        return found

    return under


def _ratios(rows: Rows) -> Estimator:
    """What is a sum over sessions divided by another."""
    done, measured = rows.done, rows.measured_done
    drafted = rows.column("num_draft_tokens")
    accepted = rows.column("num_accepted_tokens")
    rounds = rows.column("rounds")
    turns, sessions = rows.by_session(rows.accepted), (rows.by_session() > 0).astype(np.float64)
    seconds, usd = (rows.by_session(rows.column(name), done) for name in ("gpu_s", "cost_usd"))
    prompts = rows.by_session(rows.column("prompt_tokens"), measured)
    pairs = {
        "mean_itl_ms": (rows.by_session(rows.column("decode_s") * 1e3, measured & (rounds > 0)),
                        rows.by_session(rounds, measured)),
        "C_total_s": (seconds, turns),
        "C_total_usd_per_1000_turns": (usd * 1e3, turns),
        "usd_per_1000_sessions": (usd * 1e3, sessions),
        "nu": (rows.by_session(None, done), turns),
        "prefix_cache_hit_rate_tokens": (rows.by_session(rows.column("cached_tokens") * 100, measured), prompts),
        "prefix_cache_hit_rate_requests": (
            rows.by_session((rows.column("cached_tokens") > 0) * 100.0, measured),
            rows.by_session(None, measured),
        ),
        "tokens_per_round": (rows.by_session(rounds + accepted), rows.by_session(rounds)),
        "draft_acceptance_rate": (rows.by_session(accepted * 100), rows.by_session(drafted)),
    }  # fmt: skip
    under = {name: ratio(*pair) for name, pair in pairs.items()}
    preempted = rows.by_session(rows.column("num_preemptions"))
    return lambda weights: (
        {name: one(weights) for name, one in under.items()} | {"num_preemptions": weights @ preempted}
    )


def _rates(rows: Rows, slos: Sequence[Slo], provisioned_usd: float) -> Estimator:
    """What is divided by the run's duration.

    A resample has no duration of its own: it is taken to change as the sum of the session times does, so that as many
    sessions are under way at a time as in the run.
    """
    measured = rows.measured_done
    spans = rows.spans_s(rows.measured)
    scale = rows.duration_s / spans.sum() if spans.any() else 0.0
    tokens = rows.column("output_tokens")
    counted = {
        "request_throughput_per_s": rows.by_session(None, measured),
        "output_throughput_tokens_per_s": rows.by_session(tokens, measured & rows.accepted),
    }
    if slos:
        good = meets(rows, slos) & measured & rows.accepted
        counted["request_goodput_per_s"] = rows.by_session(None, good)
        counted["token_goodput_per_s"] = rows.by_session(tokens, good)
    under = {name: ratio(values, spans * scale) for name, values in counted.items()}
    present = (rows.by_session() > 0).astype(np.float64)
    usd = ratio(spans * (provisioned_usd * 1e3 / spans.sum() if spans.any() else 0.0), present)
    return lambda weights: (
        {name: one(weights) for name, one in under.items()} | {"provisioned_usd_per_1000_sessions": usd(weights)}
    )


def _attainment(rows: Rows, slos: Sequence[Slo]) -> Estimator:
    good = ratio(rows.by_session(meets(rows, slos) * 100.0, rows.measured), rows.by_session(None, rows.measured))
    return lambda weights: {"goodput_attainment": good(weights)}


def meets(rows: Rows, slos: Sequence[Slo]) -> Bool:
    """Attempts that meet every objective."""
    result = np.ones(rows.session.size, dtype=np.bool_)
    for slo in slos:
        result &= attempt_values(slo.metric, rows.column, rows.done) <= slo.limit_s
    return result
