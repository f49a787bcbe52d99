"""What a synthetic trace is drawn from: distributions, names and schemas, and no text of the recording."""

from __future__ import annotations

from typing import Any

import msgspec

from scenarios.synth.empirical import Choice, Empirical

CALL = "call:"
"""Prefix of a tool call in a skeleton, before the tool's name."""
RUN = "run:"
"""Prefix of a tool that runs after an output which does not hold its call as such, as an action written in prose."""
OPAQUE = "opaque:"
"""Prefix of tokens without text in a skeleton, before their label (empty: unknown)."""
SEPARATOR = "\x1f"
"""Between the blocks of a skeleton."""


class ValueModel(msgspec.Struct, frozen=True, kw_only=True):
    """How one JSON value is drawn; lengths in tokens of its JSON form without quotes."""

    kinds: Choice
    """string, integer, number, boolean, null, array or object."""
    string_tokens: Empirical | None = None
    styles: Choice | None = None
    """words, path or identifier."""
    enum: Choice | None = None
    """Stand-ins for the strings that the schema lists."""
    digits: Empirical | None = None
    items: Empirical | None = None
    """Lengths of arrays."""
    item: ValueModel | None = None
    members: tuple[Member, ...] = ()


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A key of an object: how often it is there, and its value."""

    key: str
    share: float
    value: ValueModel


class ToolModel(msgspec.Struct, frozen=True, kw_only=True):
    """A tool: its schema without its prose, how it is called, how long it runs and what it returns."""

    name: str
    schema: dict[str, Any]
    description_tokens: int
    arguments: ValueModel
    compact_share: float = 0.0
    """Calls whose JSON has no white space between its parts."""
    free_form_share: float = 0.0
    free_form_tokens: Empirical | None = None
    wait_s: Empirical | None = None
    wait_known_share: float = 0.0
    result_tokens: Empirical | None = None
    spawn_share: float = 0.0
    """Sub-agents started per call."""


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt head that sessions share: its weight, length and tools."""

    weight: float
    tokens: int
    tools: tuple[str, ...]
    hidden: bool = False
    """Whether it holds the tool list too, as in recordings that omit the whole head."""
    style: str = ""
    """Style of the sessions under it: what the skeletons and lengths of their turns are looked up under."""


class SessionKind(msgspec.Struct, frozen=True, kw_only=True):
    """Sessions started by a person, or by another session."""

    turns: Empirical
    heads: tuple[Head, ...]
    first_user_tokens: Empirical | None
    turns_by_style: dict[str, Empirical] = {}
    """Where a style has its own."""


class SynthModel(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that generation draws from."""

    root: SessionKind
    sub: SessionKind | None
    tools: tuple[ToolModel, ...]
    skeletons: dict[str, Choice]
    """Blocks of a turn by style and what came before: `style phase|last tool`, or `style phase` alone."""
    block_tokens: dict[str, Empirical]
    """Lengths by style of reasoning (R), prose (F) and opaque blocks, `+` with a tool after them, `-` without:
    `style phase|code` of first, inner and last turns, or `style code` of all."""
    attempts: Choice
    """Draws of a turn, the last one accepted."""
    second_user_tokens: Empirical | None = None
    """What users add after the first turn; None: as later."""
    later_user_tokens: Empirical | None
    reset_share: float
    """Turns whose prompt does not continue the one before (compaction)."""
    reset_tokens: Empirical | None
    user_wait_s: Empirical | None
    gap_s: Empirical | None
    """Between the starts of sessions; None: no times."""
