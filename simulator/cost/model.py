"""What a cost model answers: the seconds of an engine step, from what the step computes."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy.typing as npt

Number = float | npt.NDArray[Any]


class StepCost(NamedTuple):
    """Seconds of a mixed step by what caused them; their sum is the step's time."""

    decode_s: float
    """The same step without its prefill tokens."""
    prefill_s: float
    draft_prefill_s: float
    """The draft model's own pass over the prompt tokens; the law leaves it out."""

    @property
    def total_s(self) -> float:
        """Seconds of the whole step."""
        return self.decode_s + self.prefill_s + self.draft_prefill_s


class PrefillWork(NamedTuple):
    """Prompt tokens of a step."""

    tokens: int
    pairs: int
    """(query, key) pairs that attention computes: for a chunk of c tokens after m cached ones, c m + c (c + 1) / 2."""
    context_tokens: int
    """KV entries read: tokens already in the cache before the chunks."""
    last_tokens: int
    """Sequences whose prompt ends in this step: logits are computed for these tokens only."""


class CostModel(Protocol):
    """Step time as a function of what the step computes. All methods are pure."""

    def decode_s(self, n_seqs: Number, n_drafts: Number, context_tokens: Number, draft_passes: Number) -> Number:
        """Seconds of a step without prefill; array arguments are steps of a run.

        *n_seqs* decoding sequences verify one token each and *n_drafts* drafts in all, reading *context_tokens* KV
        entries; *draft_passes* sequential passes of the drafter come first.
        """
        ...

    def step(
        self, n_seqs: int, n_drafts: int, context_tokens: int, draft_passes: int, prefill: PrefillWork
    ) -> StepCost:
        """Seconds of one step with prefill in it."""
        ...
