"""Figures of a point: what tables, objectives and the Pareto front are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scenarios.answer import Answer
from scenarios.comparison.document import Better
from scenarios.comparison.metrics import Kind, kinds
from scenarios.comparison.totals import summary_figures
from scenarios.options.replay import OptionError
from scenarios.resolve.measure import Measure
from traces.choice import did_you_mean

COST, LATENCY, SAVING = "usd_per_1000_sessions", "p99_e2el_ms", "net_saving"
DEFAULT_OBJECTIVES = (COST, LATENCY)
ALIASES = {
    "cost": COST,
    "latency": LATENCY,
    "e2el": LATENCY,
    "ttft": "p99_ttft_ms",
    "tpot": "p99_tpot_ms",
    "session": "p99_session_s",
    "saving": SAVING,
    "throughput": "output_throughput_tokens_per_s",
    "goodput": "request_goodput_per_s",
    "wall_cost": "provisioned_usd_per_1000_sessions",
}
"""Short names of objectives."""

_OWN = {
    SAVING: Kind("net saving of C_total against no speculation", "%", Better.HIGHER),
    "decode_saving": Kind("the same of decode alone", "%", Better.HIGHER),
    "max_kv_cache_usage": Kind("KV cache use, peak", "%", Better.LOWER),
    "mean_num_requests_running": Kind("requests running, mean", "", Better.HIGHER),
    "mean_num_requests_waiting": Kind("requests waiting, mean", "", Better.LOWER),
    "duration_s": Kind("time of the replay", "s", Better.LOWER),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """A figure that should go one way."""

    key: str
    label: str
    unit: str
    higher_is_better: bool

    @property
    def sign(self) -> int:
        """-1 where higher is better, so that less of sign times figure is always better."""
        return -1 if self.higher_is_better else 1


def figure_kinds(measure: Measure) -> dict[str, Kind]:
    """Every figure of a point measured so, by its key."""
    return {**kinds(measure.percentiles, measure.slos), **_OWN}


def objectives(names: Sequence[str], measure: Measure) -> tuple[Objective, ...]:
    """The figures that *names*, keys or short names, stand for. Raises OptionError with the nearest for an unknown."""
    known = figure_kinds(measure)
    found = []
    for name in dict.fromkeys(ALIASES.get(one.lower(), one) for one in names):
        if name not in known:
            guess = did_you_mean(name, [*known, *ALIASES], f"short names are {', '.join(ALIASES)}")
            raise OptionError(f"--objective {name!r} is no figure of these points; {guess}")
        kind = known[name]
        found.append(
            Objective(key=name, label=kind.label, unit=kind.unit, higher_is_better=kind.better is Better.HIGHER)
        )
    return tuple(found)


def figures(answer: Answer, measure: Measure) -> dict[str, float | None]:
    """The figures of *answer* by key, those in % times 100; None where the point has none."""
    run, verdict = answer.replay, answer.verdict
    own: Mapping[str, Any] = {
        "max_kv_cache_usage": run.max_kv_cache_usage * 100,
        "mean_num_requests_running": run.mean_num_requests_running,
        "mean_num_requests_waiting": run.mean_num_requests_waiting,
        "duration_s": run.duration_s,
        SAVING: verdict.net_saving.value * 100 if verdict is not None else 0.0,
        "decode_saving": verdict.decode_saving.value * 100 if verdict is not None else 0.0,
    }
    found = {**summary_figures(answer, measure.percentiles, measure.slos), **own}
    return {key: found.get(key) for key in figure_kinds(measure)}
