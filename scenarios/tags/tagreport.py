"""The document of `simtool tag`: what the output tokens of a recording are made of."""

from __future__ import annotations

from typing import Any

import msgspec
from numpy.typing import NDArray

from scenarios.recordings.spanlengths import Lengths
from scenarios.tags.tagtally import OutputTally, ToolTally
from tokenclass.classes import CLASS_OF_SUBCLASS, PositionClass, SubClass

SCHEMA_VERSION = 1
"""Version of the document; raised when a reader of the older one would misread the newer."""

CALL_SUBCLASSES = tuple(sub for sub in SubClass if CLASS_OF_SUBCLASS[sub] is PositionClass.S)


class OutputStats(msgspec.Struct, frozen=True, kw_only=True):
    """Outputs of a group of turns, of the attempts that count; shares of nothing are None."""

    sessions: int
    turns: int
    output_tokens: int
    w_S: float | None
    w_R: float | None
    w_F: float | None
    class_tokens: dict[str, int]
    subclass_tokens: dict[str, int]
    """Of S only."""
    subclass_share_of_S: dict[str, float | None]
    span_tokens: dict[str, Lengths]
    """Lengths of the spans of each class: runs of one class within an output."""
    forced_share_of_S: float | None
    """Tokens that grammar and tool schemas force, over the S tokens of which that is known."""
    forced_known_S_tokens: int
    """S tokens of outputs with known tool schemas that the format's grammar reads as recorded."""
    straddling_tokens: int
    """Tokens over a border of classes; each counts for the class of its first byte."""
    hidden_reasoning_tokens: int
    opaque_tokens: int
    """Other tokens without text."""
    rejected_attempts: int
    """Attempts that a later one of the same turn replaced; counted nowhere else."""
    rejected_class_tokens: dict[str, int]
    turns_not_accepted: int
    """Turns whose last attempt was rejected as well; it still counts."""


class SessionStats(msgspec.Struct, frozen=True, kw_only=True):
    """One session."""

    session_id: str
    agent: str | None
    outputs: OutputStats


class AgentStats(msgspec.Struct, frozen=True, kw_only=True):
    """All sessions of one agent; None: sessions that name none."""

    agent: str | None
    outputs: OutputStats


class ToolStats(msgspec.Struct, frozen=True, kw_only=True):
    """The calls of one tool; None: calls in which no tool is named."""

    tool: str | None
    calls: int
    tokens: int
    share_of_S: float
    subclass_tokens: dict[str, int]
    subclass_share: dict[str, float | None]
    call_tokens: Lengths
    """Lengths of whole calls, the delimiters around them included."""
    forced_share: float | None
    forced_known_tokens: int


class KeyStats(msgspec.Struct, frozen=True, kw_only=True):
    """One argument of a tool: key, value and the punctuation up to the next argument."""

    tool: str | None
    key: str
    count: int
    tokens: int
    share_of_S: float


class TaggedTraceInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What was tagged, and for which target."""

    sha256: str
    files: int
    vocabulary_xxh64: str
    """Of the target's vocabulary."""
    tool_call_format: str


class TagReport(msgspec.Struct, frozen=True, kw_only=True):
    """The whole result; nothing in it depends on the clock, the machine, a path or the number of processes."""

    schema_version: int
    tool: str
    version: str
    seed: int
    trace: TaggedTraceInfo
    outputs: OutputStats
    agents: list[AgentStats]
    """In the order of first appearance."""
    tools: list[ToolStats]
    """By falling tokens, then name."""
    keys: list[KeyStats]
    """By falling tokens, then names."""
    sessions: list[SessionStats] | None
    """In the order of the recording; None unless asked for, since there may be very many."""
    assumptions: dict[str, int]
    omissions: dict[str, int]
    duplicates: dict[str, int]


def schema() -> dict[str, Any]:
    """JSON Schema of the document."""
    return msgspec.json.schema(TagReport)


def output_stats(tally: OutputTally) -> OutputStats:
    """The figures of *tally*."""
    tokens = tally.class_tokens
    total = int(tokens.sum())
    in_calls = int(tokens[PositionClass.S])
    return OutputStats(
        sessions=tally.sessions,
        turns=tally.turns,
        output_tokens=total,
        w_S=_share(tokens[PositionClass.S], total),
        w_R=_share(tokens[PositionClass.R], total),
        w_F=_share(tokens[PositionClass.F], total),
        class_tokens=_by_class(tokens),
        subclass_tokens=_by_subclass(tally.subclass_tokens),
        subclass_share_of_S=_shares(tally.subclass_tokens, in_calls),
        span_tokens={label.name: counts.summary() for label, counts in zip(PositionClass, tally.spans, strict=True)},
        forced_share_of_S=tally.forced.share,
        forced_known_S_tokens=tally.forced.known_tokens,
        straddling_tokens=tally.straddling_tokens,
        hidden_reasoning_tokens=tally.hidden_reasoning_tokens,
        opaque_tokens=tally.opaque_tokens,
        rejected_attempts=tally.rejected_attempts,
        rejected_class_tokens=_by_class(tally.rejected_class_tokens),
        turns_not_accepted=tally.turns_not_accepted,
    )


def tool_stats(tools: dict[str | None, ToolTally], in_calls: int) -> list[ToolStats]:
    """The figures of each tool of a recording with *in_calls* tokens of S."""
    found = [
        ToolStats(
            tool=name,
            calls=tally.calls.counts.total(),
            tokens=int(tally.subclass_tokens.sum()),
            share_of_S=int(tally.subclass_tokens.sum()) / in_calls,
            subclass_tokens=_by_subclass(tally.subclass_tokens),
            subclass_share=_shares(tally.subclass_tokens, int(tally.subclass_tokens.sum())),
            call_tokens=tally.calls.summary(),
            forced_share=tally.forced.share,
            forced_known_tokens=tally.forced.known_tokens,
        )
        for name, tally in tools.items()
    ]
    return sorted(found, key=lambda row: (-row.tokens, row.tool or ""))


def key_stats(tools: dict[str | None, ToolTally], in_calls: int) -> list[KeyStats]:
    """The figures of each argument of each tool of a recording with *in_calls* tokens of S."""
    found = [
        KeyStats(tool=name, key=key, count=one.count, tokens=one.tokens, share_of_S=one.tokens / in_calls)
        for name, tally in tools.items()
        for key, one in tally.keys.items()
    ]
    return sorted(found, key=lambda row: (-row.tokens, row.tool or "", row.key))


def _share(part: int, whole: int) -> float | None:
    return float(part) / whole if whole else None


def _by_class(tokens: NDArray[Any]) -> dict[str, int]:
    return {label.name: int(tokens[label]) for label in PositionClass}


def _by_subclass(tokens: NDArray[Any]) -> dict[str, int]:
    return {sub.name: int(tokens[sub]) for sub in CALL_SUBCLASSES}


def _shares(tokens: NDArray[Any], whole: int) -> dict[str, float | None]:
    return {sub.name: _share(int(tokens[sub]), whole) for sub in CALL_SUBCLASSES}
