"""Passages of the recording, cut into stretches of one class for the page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby

from scenarios.recordings.excerpt import ExcerptOutput, ExcerptPart
from tokenclass.classes import CLASS_OF_SUBCLASS, SubClass

NAMES = {
    "D": "delimiter",
    "N": "tool name",
    "K": "key",
    "V": "typed value",
    "T": "free string",
    "P": "punctuation",
    "R": "reasoning",
    "F": "prose",
}
"""What each sub-class is called."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Neighbouring runs of one class; empty *label*: tokens without text."""

    label: str
    parts: list[ExcerptPart] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Passage:
    """One output."""

    output: ExcerptOutput
    stretches: list[Stretch]


def passages(outputs: Iterable[ExcerptOutput]) -> list[Passage]:
    """The outputs as the page shows them."""
    return [
        Passage(output, [Stretch(label, list(parts)) for label, parts in groupby(output.parts, _class_of)])
        for output in outputs
    ]


def _class_of(part: ExcerptPart) -> str:
    return CLASS_OF_SUBCLASS[SubClass[part.label]].name if part.label in SubClass.__members__ else ""
