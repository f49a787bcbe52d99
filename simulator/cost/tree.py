"""Step time of draft trees: as many drafts as nodes, but passes of the drafter by level only."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.cost.model import CostModel, Number, PrefillWork, StepCost


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeCost:
    """*base* for rounds that draft a tree of *nodes* nodes in *draft_passes* sequential passes.

    The engine counts a pass a node, as for a chain. *head_cost* is what a drafting step costs beside its passes,
    relative to the same step without drafts. Raises ValueError unless nodes >= 1 and the costs >= 0.
    """

    base: CostModel
    nodes: int
    draft_passes: float
    head_cost: float = 0.0

    def __post_init__(self) -> None:
        if self.nodes < 1 or self.draft_passes < 0 or self.head_cost < 0:
            raise ValueError(f"draft tree of {self.nodes} nodes: give one at least, and costs of 0 or more")

    def decode_s(self, n_seqs: Number, n_drafts: Number, context_tokens: Number, draft_passes: Number) -> Number:
        """Seconds of a step without prefill (see CostModel)."""
        passes = draft_passes * (self.draft_passes / self.nodes)
        seconds = self.base.decode_s(n_seqs, n_drafts, context_tokens, passes)
        if not self.head_cost:
            return seconds
        return seconds + (n_drafts > 0) * self.head_cost * self.base.decode_s(n_seqs, 0.0, context_tokens, 0.0)

    def step(
        self, n_seqs: int, n_drafts: int, context_tokens: int, draft_passes: int, prefill: PrefillWork
    ) -> StepCost:
        """Seconds of a mixed step (see CostModel)."""
        decode_s = float(self.decode_s(n_seqs, n_drafts, context_tokens, draft_passes)) if n_seqs else 0.0
        mixed = self.base.step(n_seqs, n_drafts, context_tokens, 0, prefill)
        return mixed._replace(decode_s=decode_s)
