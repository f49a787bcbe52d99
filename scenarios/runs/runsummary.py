"""One replay in figures: throughput, latencies, cache, speculation counters and cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from scenarios.options.replay import OptionError
from scenarios.resolve.measure import Measure
from scenarios.resolve.platform import Platform
from scenarios.runs.metric import all_metrics
from scenarios.runs.runparts import (
    EnergyUse,
    Goodput,
    ReplicaRow,
    energy_part,
    goodput_part,
    replica_rows,
    session_shares,
)
from simulator.longcolumns import let_go_all, released
from simulator.metrics import (
    LATENCIES,
    conservation,
    describe,
    gaps_of,
    gate_gpu_s,
    hit_rates,
    itl_per_token,
    paid_s,
    session_latencies,
)
from simulator.replay import Replay
from simulator.replicalog import time_weighted
from simulator.solved import solved_tasks
from simulator.window import Window, window
from simulator.workload import Workload

F64 = npt.NDArray[np.float64]

Distribution = dict[str, float | None]
"""Mean, percentiles and maximum of a figure; None where nothing defines it."""
DEFAULT_MEASURE = Measure()


class Speculation(msgspec.Struct, frozen=True, kw_only=True):
    """vLLM's counters of speculative decoding, and the two figures made of them."""

    num_drafts: int
    num_draft_tokens: int
    num_accepted_tokens: int
    num_accepted_tokens_per_pos: list[int]
    draft_acceptance_rate: float | None
    """accepted / drafted."""
    mean_acceptance_length: float | None
    """1 + accepted / drafts, the target's own token included."""


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """GPU seconds and money. Attributed: seconds that steps took; provisioned: wall time of all GPUs."""

    accepted_turns: int
    sessions: int
    nu: float
    """Draws per accepted turn."""
    C_pre_s: float
    """Target prefill per draw, mean."""
    C_pre_draft_s: float
    """The draft model's prefill per draw, mean; the law leaves it out."""
    C_hit_s: float
    """Loading of cached blocks from host memory per draw, mean."""
    C_dec_s: float
    """Decode per draw, mean."""
    C_gate_s: float = 0.0
    """The gate's verdict per draw, mean."""
    C_total_s: float
    """nu times the five: GPU seconds per accepted turn."""
    C_total_usd: float
    session_usd: float
    """Attributed cost of a session, mean."""
    attributed_usd: float
    provisioned_usd: float
    utilization: float
    """busy seconds / wall seconds."""
    tasks_with_outcome: int = 0
    """Tasks whose outcome the recording has."""
    solved_tasks: int = 0
    """Tasks of which every turn was accepted; where the recording has outcomes, those of them that it calls solved."""
    solved_task_usd: float | None = None
    """All attributed cost, failures in it, per solved task."""

    @property
    def usd_per_1000_solved_tasks(self) -> float | None:
        """None where none is solved."""
        return None if self.solved_task_usd is None else self.solved_task_usd * 1e3


class RunSummary(msgspec.Struct, frozen=True, kw_only=True):
    """All figures of one replay; times in seconds."""

    gamma: int
    num_replicas: int
    duration_s: float
    """From the first arrival to the last finish, all replicas together."""
    busy_s: float
    """Seconds in steps, summed over replicas."""
    n_steps: int
    measured_requests: int
    cut_requests: int
    """Warm-up and drain: counted, but in no percentile, rate or hit rate."""
    measured_duration_s: float
    request_throughput_per_s: float
    output_throughput_tokens_per_s: float
    """Tokens of accepted attempts per second."""
    total_output_tokens: int
    """Tokens of all attempts."""
    total_prompt_tokens: int
    ttft_s: Distribution
    tpot_s: Distribution
    itl_per_step_s: Distribution
    itl_per_token_s: Distribution
    e2el_s: Distribution
    queue_s: Distribution
    prefill_s: Distribution
    decode_s: Distribution
    session_s: Distribution
    """From a session's first request to its last token, tools included."""
    session_time_shares: dict[str, float]
    """Where that time goes: decode, prefill, queue, tool_wait."""
    prefix_cache_hit_rate_tokens: float
    prefix_cache_hit_rate_requests: float
    external_prefix_cache_hits: int
    """Tokens loaded from host memory (vLLM's name)."""
    kv_transfer_s: float
    """Time of KV between prefill and decode replicas, all requests together."""
    num_preemptions: int
    num_evicted_blocks: int
    max_kv_cache_usage: float
    mean_kv_cache_usage: float
    max_num_requests_running: int
    mean_num_requests_running: float
    max_num_requests_waiting: int
    mean_num_requests_waiting: float
    speculation: Speculation | None
    """None without speculation."""
    cost: Cost
    energy: EnergyUse
    goodput: Goodput | None
    """None without objectives."""
    replicas: list[ReplicaRow]
    """Empty for a single replica."""
    conservation: dict[str, Any]
    metrics: dict[str, float | None] = {}
    """Those of `scenarios.runs.metrics`, by name."""


def summarise(replay: Replay, workload: Workload, platform: Platform, measure: Measure = DEFAULT_MEASURE) -> RunSummary:
    """The figures of *replay*. Raises OptionError if *measure* cuts all of it away.

    What *measure* cuts is left out of percentiles, rates and hit rates; counters, cost and conservation have it all.
    """
    try:
        measured = window(replay, workload, measure.cut)
    except ValueError as error:
        raise OptionError(str(error)) from error
    done = replay.done & measured.attempts
    accepted = done & ~workload.attempt_rejected
    duration = max(measured.duration_s, 1e-12)
    by_tokens, by_requests = hit_rates(replay, measured.attempts)
    n_measured = int(np.count_nonzero(measured.attempts))
    summary = RunSummary(
        gamma=replay.config.engine.num_speculative_tokens,
        num_replicas=len(replay.replicas),
        duration_s=replay.duration_s,
        busy_s=replay.busy_s,
        n_steps=replay.n_steps,
        measured_requests=n_measured,
        cut_requests=workload.n_attempts - n_measured,
        measured_duration_s=measured.duration_s,
        request_throughput_per_s=float(done.sum()) / duration,
        output_throughput_tokens_per_s=float(replay.output_tokens[accepted].sum()) / duration,
        total_output_tokens=int(replay.output_tokens[replay.done].sum()),
        total_prompt_tokens=int(replay.prompt_tokens[replay.done].sum()),
        session_time_shares=released(session_shares(replay, workload, measured)),
        prefix_cache_hit_rate_tokens=by_tokens,
        prefix_cache_hit_rate_requests=by_requests,
        external_prefix_cache_hits=int(replay.host_hit_tokens.sum()),
        kv_transfer_s=float(replay.kv_transfer_s.sum()),
        num_preemptions=int(replay.num_preemptions.sum()),
        num_evicted_blocks=replay.num_evicted_blocks,
        speculation=_speculation(replay),
        cost=released(_cost(replay, workload, platform, int((replay.done & ~workload.attempt_rejected).sum()))),
        energy=energy_part(replay, workload, platform),
        goodput=released(goodput_part(replay, workload, measured, measure)),
        replicas=replica_rows(replay),
        conservation=released(conservation(replay, workload)),
        metrics={metric.name: metric.of(replay, workload, measured) for metric in all_metrics()},
        **released(_load(replay)),
        **_distributions(replay, measured, measure.percentiles),
    )
    let_go_all()
    return summary


def _distributions(replay: Replay, measured: Window, percentiles: Sequence[float]) -> dict[str, Any]:
    kept = measured.attempts
    found = {name: released(describe(of(replay)[kept], percentiles)) for name, of in LATENCIES.items()}
    gaps = gaps_of(replay, kept)
    emitted = int((replay.gaps.counts + replay.by_step.accepted_tokens)[kept].sum())
    found["itl_per_step_s"] = describe(gaps, percentiles)
    found["itl_per_token_s"] = describe(itl_per_token(gaps, emitted), percentiles)
    found["session_s"] = describe(session_latencies(replay)[measured.sessions], percentiles)
    return found


def _load(replay: Replay) -> dict[str, Any]:
    """Load over time: peaks, and means weighted by time. KV use is that of the fullest replica, or of all."""
    load = replay.load
    blocks = replay.config.engine.num_gpu_blocks
    return {
        "max_kv_cache_usage": max(_peak(log.load["used_blocks"]) for log in replay.replicas) / blocks,
        "mean_kv_cache_usage": time_weighted(load, "used_blocks") / (blocks * len(replay.replicas)),
        "max_num_requests_running": int(_peak(load["num_requests_running"])),
        "mean_num_requests_running": time_weighted(load, "num_requests_running"),
        "max_num_requests_waiting": int(_peak(load["num_requests_waiting"])),
        "mean_num_requests_waiting": time_weighted(load, "num_requests_waiting"),
    }


def _peak(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    return float(values.max()) if values.size else 0.0


def _speculation(replay: Replay) -> Speculation | None:
    if not replay.config.engine.num_speculative_tokens:
        return None
    step = replay.by_step
    drafts, drafted, accepted = (int(x.sum()) for x in (step.drafts, step.draft_tokens, step.accepted_tokens))
    return Speculation(
        num_drafts=drafts,
        num_draft_tokens=drafted,
        num_accepted_tokens=accepted,
        num_accepted_tokens_per_pos=step.accepted_per_pos.tolist(),
        draft_acceptance_rate=accepted / drafted if drafted else None,
        mean_acceptance_length=1 + accepted / drafts if drafts else None,
    )


def usd_per_s(replay: Replay, platform: Platform) -> float:
    """Price of one replica's GPUs: those of a drafter's own count only where it runs."""
    speculative = replay.config.engine.num_speculative_tokens > 0
    return platform.gpu_usd_per_s if speculative else platform.baseline_gpu_usd_per_s


def _cost(replay: Replay, workload: Workload, platform: Platform, accepted_turns: int) -> Cost:
    done = replay.done
    draws = max(1, int(done.sum()))
    turns = max(1, accepted_turns)
    parts = (replay.prefill_gpu_s, replay.draft_prefill_gpu_s, replay.kv_load_s)
    per_draw = [float(x[done].sum()) / draws for x in parts]
    decode = float(replay.by_step.decode_gpu_s[done].sum()) / draws
    gate = float(gate_gpu_s(replay, workload).sum()) / draws
    total = float(paid_s(replay, workload)[done].sum())
    usd = usd_per_s(replay, platform)
    provisioned_s = replay.duration_s * len(replay.replicas)
    tasks = solved_tasks(replay, workload)
    return Cost(
        accepted_turns=accepted_turns,
        sessions=workload.n_sessions,
        nu=draws / turns,
        C_pre_s=per_draw[0],
        C_pre_draft_s=per_draw[1],
        C_hit_s=per_draw[2],
        C_dec_s=decode,
        C_gate_s=gate,
        C_total_s=total / turns,
        C_total_usd=total / turns * usd,
        session_usd=total / workload.n_sessions * usd,
        attributed_usd=total * usd,
        provisioned_usd=provisioned_s * usd,
        utilization=replay.busy_s / max(provisioned_s, 1e-12),
        tasks_with_outcome=tasks.with_outcome,
        solved_tasks=tasks.solved,
        solved_task_usd=total * usd / tasks.solved if tasks.solved else None,
    )
