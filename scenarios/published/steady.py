"""Throughput and latency of a full batch in steady state, in closed form: what a published benchmark reports."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.cost import CostModel, PrefillWork


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Requests of one kind, *n_seqs* of them at any time."""

    n_seqs: float
    prompt_tokens: int
    output_tokens: float
    gamma: int = 0
    acceptance_length: float = 1.0
    """Mean tokens that a round emits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steady:
    """Seconds and rates in steady state."""

    step_s: float
    tpot_s: float
    ttft_s: float
    """Of a request that finds no queue."""
    output_tokens_per_s: float


def steady_state(cost: CostModel, traffic: Traffic) -> Steady:
    """Steady state of *traffic* on *cost*.

    Formula: a request takes output / acceptance length rounds; each round of the batch carries n_seqs / rounds
    prefills. A request's own prefill counts in its TTFT, that of the others in its TPOT.
    """
    rounds = traffic.output_tokens / traffic.acceptance_length
    context = traffic.prompt_tokens + traffic.output_tokens / 2
    n_seqs, gamma = traffic.n_seqs, traffic.gamma
    decode_s = float(cost.decode_s(n_seqs, n_seqs * gamma, n_seqs * context, gamma))
    prefill = prompt_work(traffic.prompt_tokens)
    alone = cost.step(0, 0, 0, 0, prefill)
    beside = cost.step(round(n_seqs), round(n_seqs) * gamma, round(n_seqs * context), gamma, prefill)
    added_s = beside.prefill_s + beside.draft_prefill_s
    step_s = decode_s + n_seqs / rounds * added_s
    others_s = decode_s + (n_seqs - 1) / rounds * added_s
    return Steady(
        step_s=step_s,
        tpot_s=others_s / traffic.acceptance_length,
        ttft_s=alone.total_s,
        output_tokens_per_s=n_seqs * traffic.acceptance_length / step_s,
    )


def prompt_work(tokens: int) -> PrefillWork:
    """A whole prompt of *tokens*, nothing of it cached."""
    return PrefillWork(tokens, tokens * (tokens + 1) // 2, 0, 1)
