"""Synthetic traffic declared by knobs, without any recording."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from scenarios.synth.empirical import Choice, Empirical, Source
from scenarios.synth.model import CALL, SEPARATOR, Head, Member, SessionKind, SynthModel, ToolModel, ValueModel
from scenarios.synth.words import Vocabulary
from traces.errors import SimtoolError

_POINTS = 64
_KEYS = (2, 3, 4)
_TYPED = ("enum", "integer", "boolean")
_ENUM_VALUES = 4
REASONING_TOKENS = 60.0
PROSE_TOKENS = 40.0
STRING_TOKENS = 14.0
RESULT_TOKENS = 300.0
HEAD_TOKENS = 900
USER_TOKENS = 120.0
TOOL_WAIT_S = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """The knobs. Raises SimtoolError for values out of range."""

    tools: int = 8
    turns: int = 12
    """Mean turns of a session, drawn uniformly from half to one and a half of it."""
    rate_per_s: float | None = None
    """Requests a second, as Poisson arrivals of sessions; None: no times."""
    schema_density: float = 0.4
    """Share of arguments with a listed or typed value; the others are free strings."""
    reasoning: bool = True
    """Whether turns begin with reasoning."""
    nu: float = 1.0
    """Draws per accepted turn, geometric."""

    def __post_init__(self) -> None:
        if self.tools < 1 or self.turns < 1:
            raise SimtoolError(f"--tools {self.tools} and --turns {self.turns} must be at least 1")
        if not 0 <= self.schema_density <= 1:
            raise SimtoolError(f"--schema-density {self.schema_density} must be within 0 and 1")
        if self.rate_per_s is not None and not self.rate_per_s > 0:
            raise SimtoolError(f"--rate {self.rate_per_s} must be above 0")
        if self.nu < 1:
            raise SimtoolError(f"--nu {self.nu} must be at least 1")


def declared_model(knobs: Declared, vocabulary: Vocabulary) -> SynthModel:
    """The model that *knobs* describe; its schema share is then set by `scale_for`."""
    tools = tuple(_tool(number, knobs.schema_density, vocabulary) for number in range(1, knobs.tools + 1))
    names = [tool.name for tool in tools]
    lead = ("R",) if knobs.reasoning else ()
    calling: dict[str, float] = {}
    for rank, name in enumerate(names, start=1):
        calling[SEPARATOR.join((*lead, f"{CALL}{name}"))] = 0.55 / rank
        calling[SEPARATOR.join((*lead, "F", f"{CALL}{name}"))] = 0.3 / rank
        calling[SEPARATOR.join((*lead, f"{CALL}{name}", f"{CALL}{name}"))] = 0.15 / rank
    draws = {str(count): (1 - 1 / knobs.nu) ** (count - 1) for count in range(1, 12)} if knobs.nu > 1 else {"1": 1.0}
    return SynthModel(
        root=SessionKind(
            turns=Empirical.of(range(max(1, knobs.turns // 2), knobs.turns + (knobs.turns + 1) // 2 + 1))
            or Empirical((1.0,)),
            heads=(Head(weight=1.0, tokens=HEAD_TOKENS, tools=tuple(names)),),
            first_user_tokens=exponential(USER_TOKENS),
        ),
        sub=None,
        tools=tools,
        skeletons={
            "first": Choice.of(calling),
            "inner": Choice.of(calling),
            "last": Choice.of({SEPARATOR.join((*lead, "F")): 1.0}),
        },
        block_tokens={
            "R+": exponential(REASONING_TOKENS),
            "R-": exponential(REASONING_TOKENS),
            "F+": exponential(PROSE_TOKENS),
            "F-": exponential(4 * PROSE_TOKENS),
        },
        attempts=Choice.of(draws),
        later_user_tokens=exponential(USER_TOKENS),
        reset_share=0.0,
        reset_tokens=None,
        user_wait_s=None,
        gap_s=_seconds(knobs.turns / knobs.rate_per_s) if knobs.rate_per_s is not None else None,
    )


def _tool(number: int, density: float, vocabulary: Vocabulary) -> ToolModel:
    name = f"tool_{number}"
    source = Source(0, "declared", name)
    members = []
    properties: dict[str, Any] = {}
    for at in range(1, _KEYS[source.below(len(_KEYS))] + 1):
        key = f"{vocabulary.words[source.below(len(vocabulary.words))]}_{at}"
        kind = _TYPED[source.below(len(_TYPED))] if source.unit() < density else "string"
        value, properties[key] = _argument(kind, source, vocabulary)
        members.append(Member(key=key, share=1.0 if at == 1 else 0.7, value=value))
    return ToolModel(
        name=name,
        schema={"type": "object", "properties": properties, "required": [members[0].key]},
        description_tokens=60,
        arguments=ValueModel(kinds=Choice.of({"object": 1.0}), members=tuple(members)),
        wait_s=_seconds(TOOL_WAIT_S),
        wait_known_share=1.0,
        result_tokens=exponential(RESULT_TOKENS),
    )


def _argument(kind: str, source: Source, vocabulary: Vocabulary) -> tuple[ValueModel, dict[str, Any]]:
    """One argument's values and its schema."""
    if kind == "enum":
        options = [vocabulary.words[source.below(len(vocabulary.words))] for _ in range(_ENUM_VALUES)]
        choice = Choice.of(dict.fromkeys(options, 1.0))
        return ValueModel(kinds=Choice.of({"string": 1.0}), enum=choice), {
            "type": "string",
            "enum": sorted(set(options)),
        }
    if kind == "string":
        model = ValueModel(
            kinds=Choice.of({"string": 1.0}),
            string_tokens=exponential(STRING_TOKENS),
            styles=Choice.of({"words": 0.6, "path": 0.25, "identifier": 0.15}),
        )
        return model, {"type": "string"}
    digits = Empirical((1.0, 2.0, 3.0, 4.0)) if kind == "integer" else None
    return ValueModel(kinds=Choice.of({kind: 1.0}), digits=digits), {"type": kind}


def exponential(mean: float) -> Empirical:
    """Lengths of at least 1 with an exponential distribution of that mean."""
    units = (np.arange(_POINTS) + 0.5) / _POINTS
    return Empirical(tuple(np.maximum(1, np.round(-mean * np.log1p(-units))).tolist()))


def _seconds(mean_s: float) -> Empirical:
    units = (np.arange(_POINTS) + 0.5) / _POINTS
    return Empirical(tuple((-mean_s * np.log1p(-units)).tolist()))
