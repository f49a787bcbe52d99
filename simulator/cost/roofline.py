"""Step time derived from hardware and model shapes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simulator.cost.cudagraph import padded_tokens
from simulator.cost.efficiency import DEFAULT_EFFICIENCY, Efficiency
from simulator.cost.model import Number, PrefillWork, StepCost
from simulator.cost.passes import PassRates, rates_of
from simulator.hardware.drafthead import DraftHead
from simulator.hardware.gpus import Gpu
from simulator.hardware.shape import ModelShape


@dataclass(frozen=True, kw_only=True)
class RooflineCost:
    """Bytes over bandwidth plus FLOPs over peak plus fixed times, for target and drafter.

    *tensor_parallel_size* GPUs share weights, KV and work evenly. *draft* None: the drafter costs host time only.
    *draft_gpu* None: the drafter runs on the target's GPUs; else on one GPU of its own, and drafts travel to the
    target in *round_trip_s* a round. *pad_to_cuda_graphs*: steps compute the token count of the next larger graph.
    """

    gpu: Gpu
    target: ModelShape
    draft: ModelShape | DraftHead | None = None
    efficiency: Efficiency = DEFAULT_EFFICIENCY
    tensor_parallel_size: int = 1
    draft_gpu: Gpu | None = None
    draft_efficiency: Efficiency | None = None
    """None: as *efficiency*."""
    round_trip_s: float = 0.0
    pad_to_cuda_graphs: bool = False

    def decode_s(self, n_seqs: Number, n_drafts: Number, context_tokens: Number, draft_passes: Number) -> Number:
        """Seconds of a step without prefill (see CostModel)."""
        tokens = n_seqs + n_drafts
        if self.pad_to_cuda_graphs:
            tokens = padded_tokens(tokens)
        seconds: Number = self._target.seconds(n_seqs, tokens, context_tokens)
        seconds = seconds + n_seqs * self.efficiency.sequence_overhead_s
        if isinstance(n_drafts, np.ndarray):
            seconds = seconds + (n_drafts > 0) * self.efficiency.round_overhead_s
        elif n_drafts > 0:
            seconds += self.efficiency.round_overhead_s
        if self._drafter is not None:
            seconds = seconds + self._draft_s(self._drafter, n_seqs, context_tokens, draft_passes)
        return seconds

    def step(
        self, n_seqs: int, n_drafts: int, context_tokens: int, draft_passes: int, prefill: PrefillWork
    ) -> StepCost:
        """Seconds of a mixed step (see CostModel)."""
        decode_s = float(self.decode_s(n_seqs, n_drafts, context_tokens, draft_passes)) if n_seqs else 0.0
        if not prefill.tokens:
            return StepCost(decode_s, 0.0, 0.0)
        prefill_s = self._target.prefill_s(prefill, n_seqs + n_drafts)
        if not n_seqs:
            prefill_s += self._target.fixed_s
        if self._drafter is None:
            return StepCost(decode_s, prefill_s, 0.0)
        draft_s = self._drafter.prefill_s(prefill, 0) + self._drafter.fixed_s
        if self.draft_gpu is not None:  # it prefills while the target does
            draft_s = max(0.0, draft_s - prefill_s)
        return StepCost(decode_s, prefill_s, draft_s)

    def c_T_s(self, context_tokens: float) -> float:
        """The law's c_T: one target pass over one sequence of *context_tokens*."""
        return float(self.decode_s(1.0, 0.0, context_tokens, 0.0))

    def draft_pass_s(self, n_seqs: float, context_tokens: float) -> float:
        """One pass of the draft over *n_seqs* sequences; 0 without one."""
        if self._drafter is None:
            return 0.0
        return float(self._drafter.seconds(n_seqs, n_seqs, context_tokens))

    def _draft_s(self, drafter: PassRates, n_seqs: Number, context_tokens: Number, passes: Number) -> Number:
        one = drafter.seconds(n_seqs, n_seqs, context_tokens)
        shared_s = self._at_once_s
        once_s = shared_s + self.round_trip_s
        total = passes * (one - shared_s)
        return total + (passes > 0) * once_s if once_s else total

    @cached_property
    def _target(self) -> PassRates:
        used = self.efficiency
        return rates_of(self.target, self.gpu, used, self.tensor_parallel_size, used.step_overhead_s)

    @cached_property
    def _drafter(self) -> PassRates | None:
        if self.draft is None:
            return None
        used = self.draft_efficiency or self.efficiency
        overhead_s = used.draft_pass_overhead_s + self.draft.layers * used.draft_layer_overhead_s
        if self.draft_gpu is not None:
            return rates_of(self.draft, self.draft_gpu, used, 1, overhead_s)
        return rates_of(self.draft, self.gpu, used, self.tensor_parallel_size, overhead_s)

    @cached_property
    def _at_once_s(self) -> float:
        """Overhead that a parallel head has once a round, not per drafted token; 0 for others."""
        if not (isinstance(self.draft, DraftHead) and self.draft.parallel):
            return 0.0
        used = self.draft_efficiency or self.efficiency
        return used.draft_pass_overhead_s + self.draft.layers * used.draft_layer_overhead_s
