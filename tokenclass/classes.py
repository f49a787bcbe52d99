"""Position classes of an output and the spans that carry them."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class PositionClass(IntEnum):
    """What an output position belongs to, as the Draft Law divides it."""

    S = 0
    """Schema-constrained tool call, its delimiters included."""
    R = 1
    """Extended reasoning, its tags included."""
    F = 2
    """Free prose: everything else."""


class SubClass(IntEnum):
    """Finer class of a position: what it is within S; R and F have no finer class."""

    D = 0
    """Delimiter or special token of the call format."""
    N = 1
    """Tool name."""
    K = 2
    """Key: of an argument or of the call's own wrapper."""
    V = 3
    """Typed value: enum, boolean, number or null."""
    T = 4
    """Free string value."""
    P = 5
    """Punctuation, quotes and white space between them."""
    R = 6
    """Reasoning (no finer class)."""
    F = 7
    """Free prose (no finer class)."""


CLASS_OF_SUBCLASS: tuple[PositionClass, ...] = (
    PositionClass.S,
    PositionClass.S,
    PositionClass.S,
    PositionClass.S,
    PositionClass.S,
    PositionClass.S,
    PositionClass.R,
    PositionClass.F,
)
"""The position class of each sub-class, by its value."""

N_CLASSES = len(PositionClass)
N_SUBCLASSES = len(SubClass)


class Span(NamedTuple):
    """A run of characters of one class: offsets are code points, *end* exclusive."""

    start: int
    end: int
    label: PositionClass


class SubSpan(NamedTuple):
    """A run of characters inside a tool call: offsets are code points, *end* exclusive."""

    start: int
    end: int
    label: SubClass
