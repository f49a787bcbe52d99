"""Labelled pieces that a rendered output or prompt is made of: text, or tokens whose text is hidden."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tokenclass.classes import SubClass
from tokenclass.tagged import LabelRuns


class Piece(NamedTuple):
    """A run of text of one label."""

    text: str
    label: SubClass
    marked: bool = False
    """Whether the layout wrote it, so that special tokens in it are real; quoted ones are ordinary text."""


class Hidden(NamedTuple):
    """Tokens whose text is not known."""

    tokens: int
    labels: LabelRuns | None
    """Labels of the tokens; None in prompts, where they do not matter."""
    key: str
    """Equal keys and counts mean equal tokens."""


Pieces = Sequence[Piece | Hidden]


def delimiter(text: str) -> Piece:
    """Markup of the call format."""
    return Piece(text, SubClass.D, marked=True)


def punctuation(text: str) -> Piece:
    """Punctuation or white space between the parts of a call."""
    return Piece(text, SubClass.P, marked=True)


def key(text: str) -> Piece:
    """A key of the call's own wrapper."""
    return Piece(text, SubClass.K, marked=True)


def reasoning_mark(text: str) -> Piece:
    """Markup around reasoning."""
    return Piece(text, SubClass.R, marked=True)


def prose_mark(text: str) -> Piece:
    """Markup around prose."""
    return Piece(text, SubClass.F, marked=True)
