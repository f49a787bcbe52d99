"""Metrics of a replay with vLLM's names and definitions, in seconds.

TTFT = first token - arrival (queue included); TPOT = (last token - first token) / (tokens - 1), undefined for one
token; E2EL = last token - arrival. ITL per step is the gap between successive emissions of a request, which is what a
streaming client sees: a step emits a chunk of one token or more, and so does the step that ends the recomputation
after a preemption. Per token, the further tokens of a chunk have gaps of zero. So a request has as many gaps per token
as tokens after its first one, and either way its gaps add up to last token - first token.
Percentiles are linear between order statistics.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from simulator.replay import Replay
from simulator.weighted import Weighted
from simulator.workload import Workload

F64 = npt.NDArray[np.float64]

PERCENTILES: tuple[float, ...] = (50, 90, 95, 99)
Bool = npt.NDArray[np.bool_]


def _tpot_s(replay: Replay) -> F64:
    more = np.where(replay.output_tokens > 1, replay.output_tokens - 1, np.nan)
    tpot_s: F64 = (replay.finish_s - replay.first_token_s) / more
    return tpot_s


LATENCIES: dict[str, Callable[[Replay], F64]] = {
    "queue_s": lambda replay: replay.scheduled_s - replay.arrival_s,
    "prefill_s": lambda replay: replay.first_token_s - replay.scheduled_s,
    "decode_s": lambda replay: replay.finish_s - replay.first_token_s,
    "ttft_s": lambda replay: replay.first_token_s - replay.arrival_s,
    "tpot_s": _tpot_s,
    "e2el_s": lambda replay: np.where(replay.refused, np.nan, replay.finish_s - replay.arrival_s),
}
"""Latencies of each attempt, NaN where undefined.

queue + prefill + decode = e2el; prefill runs from the first schedule to the first token.
"""


def latencies(replay: Replay) -> dict[str, F64]:
    """All of LATENCIES."""
    return {name: of(replay) for name, of in LATENCIES.items()}


def attempt_latencies(replay: Replay) -> dict[str, F64]:
    """`latencies`, and the mean gap of each attempt between steps (itl_per_step_s) and tokens (itl_per_token_s)."""
    times = latencies(replay)
    gaps = np.where(replay.gaps.counts > 0, replay.gaps.counts, np.nan)
    return {**times, "itl_per_step_s": times["decode_s"] / gaps, "itl_per_token_s": times["tpot_s"]}


def itl_per_token(gaps: Weighted, emitted_tokens: int) -> Weighted:
    """Gaps between tokens: those between chunks, and a zero for each further one of *emitted_tokens* in its chunk.

    Neither counts first tokens: *emitted_tokens* are all others.
    """
    return gaps.with_zeros(max(0, emitted_tokens - gaps.size))


def percentile_name(percentile: float) -> str:
    """``p99``, ``p99.9``: as vLLM's benchmark names them."""
    return f"p{percentile:g}"


def describe(values: F64 | Weighted, percentiles: Sequence[float] = PERCENTILES) -> dict[str, float | None]:
    """Mean, percentiles and maximum of the defined values, in their own unit; None without any."""
    names = ["mean", *map(percentile_name, percentiles), "max"]
    known = values if isinstance(values, Weighted) else values[~np.isnan(values)]
    if not known.size:
        return dict.fromkeys(names)
    marks = known.percentiles(percentiles) if isinstance(known, Weighted) else np.percentile(known, percentiles)
    return dict(zip(names, map(float, [known.mean(), *marks, known.max()]), strict=True))


def gaps_of(replay: Replay, attempts: Bool) -> Weighted:
    """Gaps between the emissions of the chosen *attempts*, in seconds."""
    return replay.gaps.of(attempts)


def session_latencies(replay: Replay) -> F64:
    """Seconds from each session's first request to its last token; NaN for sessions that never ended."""
    return replay.session_end_s - replay.session_start_s


def hit_rates(replay: Replay, attempts: Bool | None = None) -> tuple[float, float]:
    """Prefix cache hit rate of *attempts* (None: all), weighted by tokens and by requests (requests with any hit)."""
    done = replay.done if attempts is None else replay.done & attempts
    prompt = int(replay.prompt_tokens[done].sum())
    if not prompt:
        return 0.0, 0.0
    return float(replay.hit_tokens[done].sum() / prompt), float((replay.hit_tokens[done] > 0).mean())


def attributed_s(replay: Replay) -> F64:
    """GPU seconds of each attempt: both prefills, loading from the host, and decode."""
    total: F64 = replay.prefill_gpu_s + replay.draft_prefill_gpu_s + replay.kv_load_s + replay.by_step.decode_gpu_s
    return total


def paid_s(replay: Replay, workload: Workload) -> F64:
    """GPU seconds of each attempt with those of the gate's verdict on it: what C_total counts."""
    return attributed_s(replay) + gate_gpu_s(replay, workload)


def gate_gpu_s(replay: Replay, workload: Workload) -> F64:
    """GPU seconds of the gate's verdict on each attempt that ran; zeros without a gate."""
    if workload.draws is None:
        return np.zeros(workload.n_attempts)
    return np.where(replay.done, workload.draws.gate_gpu_s, 0.0)


def mean_batch(replay: Replay) -> tuple[float, float]:
    """Time-weighted mean of decoding sequences in a decoding step, and mean context of a decoding sequence.

    Both are over the decode seconds that were paid for: a step shared by b sequences costs each 1/b of it.
    """
    step = replay.by_step
    paid = step.decode_gpu_s
    total = float(paid.sum())
    if not total:
        return 1.0, float(np.mean(replay.prompt_tokens))
    decode_wall = np.nan_to_num(replay.finish_s - replay.first_token_s).sum()
    context = replay.prompt_tokens + replay.output_tokens / 2
    return max(1.0, float(decode_wall) / total), float((paid * context).sum() / total)


def conservation(replay: Replay, workload: Workload) -> dict[str, int | float]:
    """Counters that must add up: requests, tokens and GPU seconds in against out."""
    step = replay.by_step
    done = replay.done
    attributed = float(attributed_s(replay).sum())
    in_rounds = int(step.emitted_by_subclass.sum())
    return {
        "requests_injected": workload.n_attempts,
        "requests_completed": int(done.sum()),
        "requests_refused": int((replay.refused & ~replay.abandoned).sum()),
        "requests_abandoned": int(replay.abandoned.sum()),
        "requests_unfinished": int(np.isnan(replay.finish_s).sum()),
        "requests_truncated": int((replay.truncated & ~replay.refused).sum()),
        "tokens_completed": int(replay.output_tokens[done].sum()),
        "tokens_emitted_in_rounds": in_rounds,
        "tokens_emitted_by_prefill": int(replay.output_tokens[done].sum()) - in_rounds,
        "busy_s": replay.busy_s,
        "attributed_s": attributed,
    }
