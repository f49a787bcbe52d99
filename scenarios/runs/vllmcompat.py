"""The measured part of a replay under the flat keys that ``vllm bench serve`` writes, so that its scripts can read it.

Milliseconds, one stream chunk an engine step (which is what vLLM's ITL times); a rejected attempt is a completed
request like any other, since a serving benchmark knows no verdicts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from scenarios.resolve.measure import Measure
from scenarios.runs.runsummary import RunSummary
from simulator.goodput import slo_values
from simulator.longcolumns import released
from simulator.metrics import LATENCIES, gaps_of, percentile_name
from simulator.replay import Replay
from simulator.weighted import NOTHING, Weighted
from simulator.window import window
from simulator.workload import Workload

F64 = npt.NDArray[np.float64]
Flat = dict[str, float | int | list[float] | None]


def bench_serve(replay: Replay, workload: Workload, summary: RunSummary, measure: Measure) -> Flat:
    """The flat keys of *replay*, whose figures *summary* has."""
    measured = window(replay, workload, measure.cut)
    done = replay.done & measured.attempts
    duration_s = max(measured.duration_s, 1e-12)
    n_input = int(replay.prompt_tokens[done].sum())
    n_output = int(replay.output_tokens[done].sum())
    flat: Flat = {
        "duration": measured.duration_s,
        "completed": int(done.sum()),
        "failed": int((replay.refused & measured.attempts).sum()),
        "total_input_tokens": n_input,
        "total_output_tokens": n_output,
        "request_throughput": float(done.sum()) / duration_s,
        "request_goodput": _request_goodput(replay, done, measure, duration_s),
        "output_throughput": n_output / duration_s,
        "total_token_throughput": (n_input + n_output) / duration_s,
        "max_concurrent_requests": _max_concurrent(replay.arrival_s[done], replay.finish_s[done]),
    }
    statistics = {
        name: released(_statistics(name, LATENCIES[f"{name}_s"](replay)[done], measure.percentiles))
        for name in ("ttft", "tpot", "e2el")
    }
    statistics["itl"] = released(_gap_statistics(gaps_of(replay, done), measure.percentiles))
    for name in ("ttft", "tpot", "itl", "e2el"):
        flat |= statistics[name]
    return flat | _speculation(summary)


def _request_goodput(replay: Replay, done: npt.NDArray[np.bool_], measure: Measure, duration_s: float) -> float | None:
    if not measure.slos:
        return None
    good = done.copy()
    for slo in measure.slos:
        good &= slo_values(replay, slo.metric) <= slo.limit_s
    return float(good.sum()) / duration_s


def _statistics(name: str, values_s: F64, percentiles: Sequence[float]) -> Flat:
    known = values_s[~np.isnan(values_s)] * 1e3
    if not known.size:
        known = np.zeros(1)
    middle = (float(known.mean()), float(np.median(known)), float(known.std()))
    return _named(name, middle, np.percentile(known, percentiles), percentiles)


def _gap_statistics(gaps: Weighted, percentiles: Sequence[float]) -> Flat:
    known = gaps.scaled(1e3) if gaps.size else NOTHING.with_zeros(1)
    return _named("itl", (known.mean(), known.median(), known.std()), known.percentiles(percentiles), percentiles)


def _named(name: str, middle: tuple[float, float, float], marks: F64, percentiles: Sequence[float]) -> Flat:
    """Mean, median and deviation, then the percentiles *marks*, under the benchmark's keys."""
    found: Flat = {
        f"{figure}_{name}_ms": value for figure, value in zip(("mean", "median", "std"), middle, strict=True)
    }
    return found | {f"{percentile_name(p)}_{name}_ms": float(v) for p, v in zip(percentiles, marks, strict=True)}


def _max_concurrent(starts_s: F64, ends_s: F64) -> int:
    """Most requests that touch one whole second, counted from the first start."""
    if not starts_s.size:
        return 0
    first = np.floor(starts_s - starts_s.min()).astype(np.int64)
    last = np.floor(ends_s - starts_s.min()).astype(np.int64)
    changes = np.bincount(first, minlength=int(last.max()) + 2).astype(np.int64)
    changes -= np.bincount(last + 1, minlength=changes.size)
    return int(changes.cumsum().max())


def _speculation(summary: RunSummary) -> Flat:
    """Counters of the whole replay, as the server's own are; absent without speculation."""
    counters = summary.speculation
    if counters is None:
        return {}
    drafts = counters.num_drafts
    rate = counters.draft_acceptance_rate
    return {
        "spec_decode_acceptance_rate": None if rate is None else rate * 100,
        "spec_decode_acceptance_length": counters.mean_acceptance_length,
        "spec_decode_num_drafts": drafts,
        "spec_decode_draft_tokens": counters.num_draft_tokens,
        "spec_decode_accepted_tokens": counters.num_accepted_tokens,
        "spec_decode_per_position_acceptance_rates": [
            count / drafts if drafts else 0.0 for count in counters.num_accepted_tokens_per_pos
        ],
    }
