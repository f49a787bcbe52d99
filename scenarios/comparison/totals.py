"""The metrics of a summary, for results without a table of attempts."""

from __future__ import annotations

import math
from collections.abc import Sequence

from scenarios.answer import Answer
from scenarios.runs.metric import all_metrics
from scenarios.runs.runsummary import Distribution
from simulator.goodput import Slo
from simulator.metrics import percentile_name
from simulator.slo import SloMetric


def summary_figures(answer: Answer, percentiles: Sequence[float], slos: Sequence[Slo]) -> dict[str, float | None]:
    """Metrics by key (see metrics.kinds); those that the summary does not have are left out."""
    run = answer.replay
    cost = run.cost
    found: dict[str, float | None] = {}
    for name, distribution in (("ttft", run.ttft_s), ("tpot", run.tpot_s), ("e2el", run.e2el_s)):
        found |= _marks(f"{name}_ms", distribution, percentiles, 1e3)
    found |= unsampled_figures(answer, percentiles)
    found |= _marks("session_s", run.session_s, percentiles, 1.0)
    counters = run.speculation
    found |= {
        "request_throughput_per_s": run.request_throughput_per_s,
        "output_throughput_tokens_per_s": run.output_throughput_tokens_per_s,
        "C_total_s": cost.C_total_s,
        "C_total_usd_per_1000_turns": cost.C_total_usd * 1e3,
        "usd_per_1000_sessions": cost.session_usd * 1e3,
        "provisioned_usd_per_1000_sessions": cost.provisioned_usd / max(1, cost.sessions) * 1e3,
        "nu": cost.nu,
        "prefix_cache_hit_rate_tokens": run.prefix_cache_hit_rate_tokens * 100,
        "prefix_cache_hit_rate_requests": run.prefix_cache_hit_rate_requests * 100,
        "draft_acceptance_rate": _percent(counters.draft_acceptance_rate) if counters is not None else None,
        "num_preemptions": float(run.num_preemptions),
        "tokens_per_round": 1.0 if counters is None else _tokens_per_round(answer),
    }
    return found | (_goodput(answer) if slos and same_slos(stored_slos(answer), slos) else {})


def unsampled_figures(answer: Answer, percentiles: Sequence[float]) -> dict[str, float | None]:
    """What no table of attempts gives: marks of the gaps between steps, and metrics of a replay as a whole."""
    own = {one.name: one.shown(answer.replay.metrics.get(one.name)) for one in all_metrics()}
    return _marks("itl_ms", answer.replay.itl_per_step_s, percentiles, 1e3) | own


def stored_slos(answer: Answer) -> tuple[Slo, ...]:
    """The objectives that a result was made with."""
    found = answer.replay.goodput
    return () if found is None else tuple(Slo(SloMetric(one.metric), one.limit_ms / 1e3) for one in found.slos)


def same_slos(one: Sequence[Slo], other: Sequence[Slo]) -> bool:
    """Whether two sets of objectives are the same, in any order."""
    limits = [{slo.metric: slo.limit_s for slo in slos} for slos in (one, other)]
    return limits[0].keys() == limits[1].keys() and all(
        math.isclose(limit, limits[1][metric]) for metric, limit in limits[0].items()
    )


def _marks(name: str, values: Distribution, percentiles: Sequence[float], scale: float) -> dict[str, float | None]:
    marks = ["mean", *map(percentile_name, percentiles)]
    found = {mark: values[mark] for mark in marks if mark in values}
    return {f"{mark}_{name}": None if value is None else value * scale for mark, value in found.items()}


def _percent(value: float | None) -> float | None:
    return None if value is None else value * 100


def _tokens_per_round(answer: Answer) -> float | None:
    """Tokens emitted in rounds over rounds: each round emits its accepted drafts and one token of the target's."""
    counters = answer.replay.speculation
    emitted = answer.replay.conservation["tokens_emitted_in_rounds"]
    rounds = emitted - (counters.num_accepted_tokens if counters is not None else 0)
    return emitted / rounds if rounds else None


def _goodput(answer: Answer) -> dict[str, float | None]:
    found = answer.replay.goodput
    assert found is not None
    return {
        "goodput_attainment": found.attainment * 100,
        "request_goodput_per_s": found.request_goodput_per_s,
        "token_goodput_per_s": found.token_goodput_per_s,
    }
