"""Step time read from a table of measured passes, multilinear between its points."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from simulator.cost.grid import F64, Axis, Curve, Surface, between, check_axis, check_times
from simulator.cost.model import Number, PrefillWork, StepCost


@dataclass(frozen=True, eq=False)
class PrefillTable:
    """Measured seconds of passes over prompt tokens alone, shape (prompt tokens, cached tokens before them)."""

    prompt_tokens: Axis
    cached_tokens: Axis
    seconds: F64

    def check(self, name: str) -> None:
        """Raise ValueError, naming *name*, unless axes and times fit together."""
        check_axis(f"{name}.prompt_tokens", self.prompt_tokens)
        check_axis(f"{name}.cached_tokens", self.cached_tokens)
        check_times(f"{name}.seconds", self.seconds, (len(self.prompt_tokens), len(self.cached_tokens)))

    def pass_s(self, work: PrefillWork) -> float:
        """Seconds of a pass over *work* and nothing else."""
        return float(self._surface.at(float(work.tokens), float(work.context_tokens)))

    @cached_property
    def fixed_s(self) -> float:
        """Seconds of a pass over no tokens: the line through the first two points, drawn to zero."""
        first, second = float(self.seconds[0, 0]), float(self.seconds[1, 0])
        slope = (second - first) / (self.prompt_tokens[1] - self.prompt_tokens[0])
        return max(0.0, first - slope * self.prompt_tokens[0])

    @cached_property
    def _surface(self) -> Surface:
        return Surface(self.prompt_tokens, self.cached_tokens, self.seconds)


@dataclass(frozen=True, kw_only=True, eq=False)
class TableCost:
    """Measured seconds of a target pass, shape (batch, verified tokens a sequence, context a sequence).

    *draft_pass_s* has shape (batch, context) and is None where the drafter costs host time only. Beyond its last
    points the table goes on along the last slope; before the first it stays. Raises ValueError for axes that do not
    rise, for tables of another shape, and for times that fall along an axis.
    """

    batch: Axis
    verified_tokens: Axis
    context_tokens: Axis
    target_pass_s: F64
    prefill: PrefillTable
    draft_pass_s: F64 | None = None
    draft_prefill: PrefillTable | None = None
    step_overhead_s: float = 0.0
    round_overhead_s: float = 0.0
    _slices: dict[float, tuple[Surface, Curve | None]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for name in ("batch", "verified_tokens", "context_tokens"):
            check_axis(name, getattr(self, name))
        shape = (len(self.batch), len(self.verified_tokens), len(self.context_tokens))
        check_times("target_pass_s", self.target_pass_s, shape)
        if self.draft_pass_s is not None:
            check_times("draft_pass_s", self.draft_pass_s, (shape[0], shape[2]))
        self.prefill.check("prefill")
        if self.draft_prefill is not None:
            self.draft_prefill.check("draft_prefill")

    def decode_s(self, n_seqs: Number, n_drafts: Number, context_tokens: Number, draft_passes: Number) -> Number:
        """Seconds of a step without prefill (see CostModel); *n_seqs* is one number."""
        count = max(1, n_seqs)
        at_batch = self._slices.get(count)  # type: ignore[arg-type]
        if at_batch is None:
            at_batch = self._slice(float(count))
        target, draft = at_batch
        seconds: Number = self.step_overhead_s + target.at(1.0 + n_drafts / count, context_tokens / count)
        if isinstance(n_drafts, np.ndarray):
            seconds = seconds + (n_drafts > 0) * self.round_overhead_s
        elif n_drafts > 0:
            seconds += self.round_overhead_s
        if draft is not None:
            seconds = seconds + draft_passes * draft.at(context_tokens / count)
        return seconds

    def step(
        self, n_seqs: int, n_drafts: int, context_tokens: int, draft_passes: int, prefill: PrefillWork
    ) -> StepCost:
        """Seconds of a mixed step (see CostModel).

        Beside decoding, prompt tokens add their own pass less what a pass of none would take: weights are read once.
        """
        decode_s = float(self.decode_s(n_seqs, n_drafts, context_tokens, draft_passes)) if n_seqs else 0.0
        if not prefill.tokens:
            return StepCost(decode_s, 0.0, 0.0)
        prefill_s = self.prefill.pass_s(prefill)
        if n_seqs:
            prefill_s = max(0.0, prefill_s - self.prefill.fixed_s)
        else:
            prefill_s += self.step_overhead_s
        draft_s = self.draft_prefill.pass_s(prefill) if self.draft_prefill is not None else 0.0
        return StepCost(decode_s, prefill_s, draft_s)

    def _slice(self, count: float) -> tuple[Surface, Curve | None]:
        """The tables at one batch size; kept, as a replay asks for the same few sizes again and again."""
        target = Surface(self.verified_tokens, self.context_tokens, between(self.target_pass_s, self.batch, count))
        draft = None
        if self.draft_pass_s is not None:
            draft = Curve(self.context_tokens, between(self.draft_pass_s, self.batch, count))
        self._slices[count] = (target, draft)
        return target, draft
