"""A tagged session: numbers and identities only, what the simulator replays.

Token ids are in the target's vocabulary. A negative id stands for a token whose content is hidden; equal
negative ids at equal places mean equal content, so prefixes can be compared, but no drafter may match them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tokenclass.classes import CLASS_OF_SUBCLASS, N_CLASSES, N_SUBCLASSES
from traces.model import Session, SpawnLink, Times, ToolWait, Turn, Usage, Verdict

_CLASS = np.array(CLASS_OF_SUBCLASS, dtype=np.uint8)


@dataclass(frozen=True, slots=True, eq=False)
class LabelRuns:
    """Sub-class labels of an output's tokens, run-length coded. Neighbouring runs differ in value."""

    values: NDArray[np.uint8]
    """SubClass of each run; shape (runs,)."""
    lengths: NDArray[np.int32]
    """Tokens of each run, all positive; shape (runs,)."""

    @classmethod
    def of(cls, labels: NDArray[np.uint8]) -> LabelRuns:
        """Code one label a token; shape (tokens,)."""
        if labels.size == 0:
            return cls(labels, np.empty(0, np.int32))
        borders = (labels[1:] != labels[:-1]).nonzero()[0]
        ends = np.empty(borders.size + 2, np.int32)
        ends[0], ends[-1] = 0, labels.size
        ends[1:-1] = borders
        ends[1:-1] += 1
        return cls(labels[ends[:-1]], ends[1:] - ends[:-1])

    @classmethod
    def merged(cls, values: NDArray[np.uint8], lengths: NDArray[np.int32]) -> LabelRuns:
        """Code runs that may be empty or have neighbours of the same value; shapes (any,)."""
        values, lengths = values[lengths > 0], lengths[lengths > 0]
        if values.size == 0:
            return cls(values, lengths)
        starts = np.flatnonzero(np.concatenate(([True], values[1:] != values[:-1])))
        return cls(values[starts], np.add.reduceat(lengths, starts, dtype=np.int32))

    @property
    def n_tokens(self) -> int:
        """Tokens labelled."""
        return int(self.lengths.sum())

    def expand(self) -> NDArray[np.uint8]:
        """One SubClass value a token; shape (n_tokens,)."""
        return np.repeat(self.values, self.lengths)

    def expand_classes(self) -> NDArray[np.uint8]:
        """One PositionClass value a token; shape (n_tokens,)."""
        return np.repeat(_CLASS[self.values], self.lengths)

    def subclass_tokens(self) -> NDArray[np.int64]:
        """Tokens of each SubClass; shape (N_SUBCLASSES,)."""
        return np.bincount(self.values, self.lengths, N_SUBCLASSES).astype(np.int64)

    def class_tokens(self) -> NDArray[np.int64]:
        """Tokens of each PositionClass; shape (N_CLASSES,)."""
        return np.bincount(_CLASS[self.values], self.lengths, N_CLASSES).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class SegmentTable:
    """The distinct pieces that a session's prompts and outputs are made of, each stored once."""

    keys: NDArray[np.uint64]
    """Identity of each segment, across sessions too: equal keys mean equal tokens; shape (segments,)."""
    tokens: NDArray[np.int32]
    """Length of each segment in tokens; shape (segments,)."""
    ids: tuple[NDArray[np.int32], ...]
    """Token ids of each segment (read-only); hidden content repeats one negative id."""


@dataclass(frozen=True, slots=True, eq=False)
class SegmentPrompt:
    """A prompt as segments in order."""

    segments: NDArray[np.int32]
    """Indices into the session's SegmentTable."""
    tokens: int
    """Length of the whole prompt in tokens."""


@dataclass(frozen=True, slots=True, eq=False)
class BlockPrompt:
    """A prompt known by its length and the identity of its blocks."""

    tokens: int
    """Length of the whole prompt in tokens."""
    block_tokens: int | None
    """Tokens that a block key stands for; None: nothing is known to be shared."""
    block_keys: NDArray[np.uint64]
    """Identity of each block, across sessions too; equal leading keys mean equal leading tokens, and the
    last block may be partial."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TaggedAttempt:
    """One draw of a turn's output, its end-of-turn token included where the target emits one."""

    labels: LabelRuns
    ids: NDArray[np.int32] | None
    """Token ids, shape (labels.n_tokens,), read-only; hidden tokens are negative. None: only counts are known."""
    segments: tuple[int, ...] | None
    """Indices in the SegmentTable whose tokens, joined, are *ids*; later prompts that repeat this output name
    the same indices. None: only counts are known."""
    block_keys: NDArray[np.uint64] | None = None
    """Keys of the blocks that follow those of a prompt known by length, up to this output's end; None: not known."""
    straddling_tokens: int = 0
    """Tokens over a border of position classes; each took the class of its first character."""
    hidden_reasoning_tokens: int = 0
    """Reasoning tokens that are counted but whose text the recording hides."""
    opaque_tokens: int = 0
    """Other tokens without text, labelled by the recording or by the given class mix."""
    verdict: Verdict = Verdict.ACCEPTED
    usage: Usage | None = None
    """The recording's own counts, in its own tokenizer."""
    times: Times | None = None
    accepted_per_round: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TaggedTurn:
    """One model call with all its attempts; the last attempt is the one that counts."""

    id: str
    parent: int | None
    """Index of the turn that this one waits for; None: it waits for the session's start only."""
    prompt: SegmentPrompt | BlockPrompt
    attempts: tuple[TaggedAttempt, ...]
    tool_waits: tuple[ToolWait, ...] = ()
    """Tools that run after this turn, side by side; its children wait for the slowest."""
    user_wait_s: float | None = None
    max_tokens: int | None = None
    model: str | None = None
    """Model that the recording was made with."""

    @property
    def final(self) -> TaggedAttempt:
        """The attempt that counts."""
        return self.attempts[-1]


@dataclass(frozen=True, kw_only=True, eq=False)
class TaggedSession:
    """A session of which every output token has a label and every prompt token an identity."""

    id: str
    turns: tuple[TaggedTurn, ...]
    segments: SegmentTable
    parent: SpawnLink | None = None
    """Where this sub-agent's session was started from."""
    agent: str | None = None
    start_s: float | None = None
    reward: float | None = None
    """What the recording's own evaluation gave the task, 1 if solved; None: not recorded."""
    assumptions: dict[str, int] = field(default_factory=dict)
    """What had to be assumed -> how often."""

    def prompt_ids(self, turn: TaggedTurn) -> NDArray[np.int32] | None:
        """Token ids of *turn*'s whole prompt, built anew at each call; None for a prompt known by length."""
        if not isinstance(turn.prompt, SegmentPrompt):
            return None
        parts = [self.segments.ids[index] for index in turn.prompt.segments]
        return np.concatenate(parts) if parts else np.empty(0, np.int32)

    def prompt_keys(self, turn: TaggedTurn) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
        """Keys and token counts of *turn*'s segments in order; both empty for a prompt known by length."""
        if not isinstance(turn.prompt, SegmentPrompt):
            return np.empty(0, np.uint64), np.empty(0, np.int32)
        index = turn.prompt.segments
        return self.segments.keys[index], self.segments.tokens[index]

    @cached_property
    def class_tokens(self) -> NDArray[np.int64]:
        """Output tokens of each PositionClass over the attempts that count; shape (N_CLASSES,)."""
        counts = [turn.final.labels.class_tokens() for turn in self.turns]
        return np.sum(counts, axis=0, dtype=np.int64) if counts else np.zeros(N_CLASSES, np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TaggedCounts:
    """Sessions of lengths, in each turn one output; turns and outputs of all of them stand end to end."""

    sessions: Sequence[Session]
    turns: Sequence[Turn]
    parents: Sequence[int | None]
    """Place in its session of the turn that each turn waits for; None: it waits for the session's start only."""
    prompts: Sequence[BlockPrompt]
    """Empty where it is known of no prompt what it shares."""
    prompt_tokens: NDArray[np.int64]
    """Shape (turns,)."""
    output_tokens: NDArray[np.int64]
    """Shape (turns,)."""
    labels: NDArray[np.uint8]
    """SubClass of each output token; shape (output_tokens.sum(),)."""
    assumptions: dict[str, int]
    """What had to be assumed -> how often."""
