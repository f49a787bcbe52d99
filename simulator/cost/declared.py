"""Step time by the law's constants."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulator.cost.model import Number, PrefillWork, StepCost


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredCost:
    """The law's constants: a round costs c_T (1 + o + gamma (delta + d)), whatever the batch and context.

    *c_T_s* seconds a target pass, *delta* per extra token a sequence verifies, *d* per draft pass, *overhead* (o) per
    round that drafts, *prefill_s_per_token* per prompt token. With several sequences, gamma is their mean draft count.
    """

    c_T_s: float
    delta: float = 0.0
    d: float = 0.0
    overhead: float = 0.0
    prefill_s_per_token: float = 0.0

    def decode_s(self, n_seqs: Number, n_drafts: Number, context_tokens: Number, draft_passes: Number) -> Number:
        """Seconds of a step without prefill (see CostModel); independent of *context_tokens*."""
        drafting: Number
        if isinstance(n_drafts, np.ndarray) or isinstance(n_seqs, np.ndarray):
            extra = n_drafts / np.maximum(n_seqs, 1)
            drafting = np.asarray(n_drafts) > 0
        else:
            extra = n_drafts / (max(1, n_seqs))
            drafting = n_drafts > 0
        return self.c_T_s * (1.0 + self.overhead * drafting + self.delta * extra + self.d * draft_passes)

    def step(
        self, n_seqs: int, n_drafts: int, context_tokens: int, draft_passes: int, prefill: PrefillWork
    ) -> StepCost:
        """Seconds of a mixed step (see CostModel)."""
        decode_s = float(self.decode_s(n_seqs, n_drafts, context_tokens, draft_passes)) if n_seqs else 0.0
        return StepCost(decode_s, prefill.tokens * self.prefill_s_per_token, 0.0)
