"""One pass of a model over some tokens, as a sum of rates derived from hardware and shape."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulator.cost.efficiency import Efficiency
from simulator.cost.links import all_reduce_s
from simulator.cost.model import Number, PrefillWork
from simulator.hardware.drafthead import DraftHead
from simulator.hardware.gpus import Gpu
from simulator.hardware.shape import ModelShape


@dataclass(frozen=True, slots=True, kw_only=True)
class PassRates:
    """Seconds of a pass: fixed, per KV entry read, per token computed, and for experts that come to be read.

    The parts add up: bytes and FLOPs do not overlap, as linear fits of measured steps show.
    """

    fixed_s: float
    kv_s: float
    window_kv_s: float
    window_tokens: int
    token_s: float
    experts_s: float
    """Reading all routed experts."""
    expert_miss: float
    """Probability that a token leaves a given expert out."""
    prompt_token_s: float
    """Per prompt token, without logits."""
    logits_s: float
    pair_s: float
    window_pair_s: float

    def seconds(self, n_seqs: Number, tokens: Number, context_tokens: Number) -> Number:
        """A pass over *tokens* of *n_seqs* sequences that reads *context_tokens* KV entries.

        Experts read, routing even and independent: count (1 - (1 - active / count)^tokens).
        """
        total = self.fixed_s + context_tokens * self.kv_s + tokens * self.token_s
        if self.experts_s:
            total = total + self.experts_s * (1.0 - self.expert_miss**tokens)
        if self.window_kv_s:
            seen = n_seqs * self.window_tokens
            if isinstance(context_tokens, np.ndarray) or isinstance(seen, np.ndarray):
                total = total + self.window_kv_s * np.minimum(context_tokens, seen)
            else:
                total += self.window_kv_s * (min(seen, context_tokens))
        return total

    def prefill_s(self, work: PrefillWork, decode_tokens: int) -> float:
        """Seconds that prompt tokens add to a pass that computes *decode_tokens* anyway."""
        total = work.tokens * self.prompt_token_s + work.last_tokens * self.logits_s + work.pairs * self.pair_s
        total += work.context_tokens * self.kv_s
        if self.window_tokens:
            total += min(work.pairs, work.tokens * self.window_tokens) * self.window_pair_s
            total += min(work.context_tokens, work.tokens * self.window_tokens) * self.window_kv_s
        if self.experts_s:
            missed: float = self.expert_miss**decode_tokens
            total += self.experts_s * (missed - self.expert_miss ** (decode_tokens + work.tokens))
        return total


def rates_of(
    model: ModelShape | DraftHead, gpu: Gpu, efficiency: Efficiency, tensor_parallel_size: int, overhead_s: float
) -> PassRates:
    """Rates of *model* on *tensor_parallel_size* GPUs; *overhead_s* is added to each pass."""
    bandwidth = gpu.bandwidth_bytes_per_s * tensor_parallel_size
    weights = bandwidth * efficiency.weights_bandwidth
    kv = bandwidth * efficiency.kv_bandwidth
    peak = gpu.fp8_flops if model.fp8_math else gpu.bf16_flops
    flops = peak * efficiency.flops * tensor_parallel_size
    prompt_flops = peak * efficiency.prefill_flops * tensor_parallel_size
    if isinstance(model, DraftHead):
        return _head_rates(model, weights, kv, flops, prompt_flops, overhead_s)
    sync_s, sync_token_s = all_reduce_s(gpu, tensor_parallel_size, model.layers, model.hidden)
    return PassRates(
        fixed_s=model.common_read_bytes / weights + sync_s + overhead_s,
        kv_s=model.full_kv_bytes_per_token / kv,
        window_kv_s=model.window_kv_bytes_per_token / kv,
        window_tokens=model.window_tokens,
        token_s=model.flops_per_token / flops + sync_token_s,
        experts_s=model.all_experts_bytes / weights,
        expert_miss=model.expert_miss,
        prompt_token_s=model.flops_per_token_no_head / prompt_flops + sync_token_s,
        logits_s=model.head_flops / prompt_flops,
        pair_s=model.attention_flops_per_pair / prompt_flops,
        window_pair_s=model.window_flops_per_pair / prompt_flops,
    )


def _head_rates(
    head: DraftHead, weights: float, kv: float, flops: float, prompt_flops: float, overhead_s: float
) -> PassRates:
    return PassRates(
        fixed_s=head.read_bytes / weights + overhead_s,
        kv_s=head.kv_bytes_per_token / kv,
        window_kv_s=0.0,
        window_tokens=0,
        token_s=head.flops_per_token / flops,
        experts_s=0.0,
        expert_miss=1.0,
        prompt_token_s=head.flops_per_token_no_head / prompt_flops,
        logits_s=head.head_flops / prompt_flops,
        pair_s=head.attention_flops_per_pair / prompt_flops,
        window_pair_s=0.0,
    )
