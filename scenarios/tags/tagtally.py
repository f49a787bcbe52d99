"""Counts of labelled tokens that add up: of a session, an agent, a tool or a whole recording."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from scenarios.recordings.spanlengths import LengthCounts
from tokenclass.classes import CLASS_OF_SUBCLASS, N_CLASSES, N_SUBCLASSES, PositionClass
from tokenclass.tagged import LabelRuns, TaggedAttempt, TaggedSession
from traces.model import Verdict

_CLASS = np.array(CLASS_OF_SUBCLASS, np.uint8)


def _zeros(size: int) -> NDArray[np.int64]:
    return np.zeros(size, np.int64)


@dataclass(slots=True, kw_only=True, eq=False)
class ForcedTally:
    """Tokens that grammar and schemas force, of those of which that is known."""

    forced_tokens: int = 0
    known_tokens: int = 0

    def merge(self, other: ForcedTally) -> None:
        """Add the counts of *other*."""
        self.forced_tokens += other.forced_tokens
        self.known_tokens += other.known_tokens

    @property
    def share(self) -> float | None:
        """Forced tokens over known ones; None without any."""
        return self.forced_tokens / self.known_tokens if self.known_tokens else None


@dataclass(slots=True, kw_only=True, eq=False)
class OutputTally:
    """Outputs of sessions: of the attempts that count, and apart from them of the rejected ones."""

    sessions: int = 0
    turns: int = 0
    subclass_tokens: NDArray[np.int64] = field(default_factory=lambda: _zeros(N_SUBCLASSES))
    spans: tuple[LengthCounts, ...] = field(default_factory=lambda: tuple(LengthCounts() for _ in PositionClass))
    """Lengths of the spans of each PositionClass."""
    forced: ForcedTally = field(default_factory=ForcedTally)
    straddling_tokens: int = 0
    hidden_reasoning_tokens: int = 0
    opaque_tokens: int = 0
    rejected_attempts: int = 0
    rejected_class_tokens: NDArray[np.int64] = field(default_factory=lambda: _zeros(N_CLASSES))
    turns_not_accepted: int = 0
    """Turns whose last attempt, the one that counts, was rejected as well."""

    def add(self, session: TaggedSession) -> None:
        """Count the outputs of *session*; forced tokens are counted elsewhere, from its text."""
        self.sessions += 1
        self.turns += len(session.turns)
        for turn in session.turns:
            self._count(turn.final)
            for attempt in turn.attempts[:-1]:
                self.rejected_attempts += 1
                self.rejected_class_tokens += attempt.labels.class_tokens()

    def _count(self, attempt: TaggedAttempt) -> None:
        self.subclass_tokens += attempt.labels.subclass_tokens()
        spans = class_spans(attempt.labels)
        for label, counts in zip(PositionClass, self.spans, strict=True):
            counts.add(spans.lengths[spans.values == label].tolist())
        self.straddling_tokens += attempt.straddling_tokens
        self.hidden_reasoning_tokens += attempt.hidden_reasoning_tokens
        self.opaque_tokens += attempt.opaque_tokens
        self.turns_not_accepted += attempt.verdict is Verdict.REJECTED

    def merge(self, other: OutputTally) -> None:
        """Add the counts of *other*."""
        self.sessions += other.sessions
        self.turns += other.turns
        self.subclass_tokens += other.subclass_tokens
        for mine, theirs in zip(self.spans, other.spans, strict=True):
            mine.merge(theirs)
        self.forced.merge(other.forced)
        self.straddling_tokens += other.straddling_tokens
        self.hidden_reasoning_tokens += other.hidden_reasoning_tokens
        self.opaque_tokens += other.opaque_tokens
        self.rejected_attempts += other.rejected_attempts
        self.rejected_class_tokens += other.rejected_class_tokens
        self.turns_not_accepted += other.turns_not_accepted

    @property
    def class_tokens(self) -> NDArray[np.int64]:
        """Tokens of each PositionClass; shape (N_CLASSES,)."""
        return np.bincount(_CLASS, self.subclass_tokens, N_CLASSES).astype(np.int64)


@dataclass(slots=True, kw_only=True, eq=False)
class KeyTally:
    """One argument of a tool."""

    count: int = 0
    tokens: int = 0

    def merge(self, other: KeyTally) -> None:
        """Add the counts of *other*."""
        self.count += other.count
        self.tokens += other.tokens


@dataclass(slots=True, kw_only=True, eq=False)
class ToolTally:
    """The calls of one tool, in attempts that count."""

    subclass_tokens: NDArray[np.int64] = field(default_factory=lambda: _zeros(N_SUBCLASSES))
    calls: LengthCounts = field(default_factory=LengthCounts)
    """Lengths of whole calls."""
    forced: ForcedTally = field(default_factory=ForcedTally)
    keys: dict[str, KeyTally] = field(default_factory=dict)

    def merge(self, other: ToolTally) -> None:
        """Add the counts of *other*."""
        self.subclass_tokens += other.subclass_tokens
        self.calls.merge(other.calls)
        self.forced.merge(other.forced)
        for key, tally in other.keys.items():
            self.keys.setdefault(key, KeyTally()).merge(tally)


def class_spans(labels: LabelRuns) -> LabelRuns:
    """The runs of *labels* by PositionClass: neighbouring sub-classes of one class are one span."""
    return LabelRuns.merged(_CLASS[labels.values], labels.lengths)
