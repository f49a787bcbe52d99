"""Labels inside a call's arguments: keys, typed values, free strings, punctuation."""

from __future__ import annotations

import json

from tokenclass.classes import SubClass
from tokenclass.formats.dialect import Outcome
from tokenclass.formats.literals import BLANKS, Scanner
from tokenclass.formats.schema import ANY, Shape
from tokenclass.formats.sink import Sink
from tokenclass.pieces import Piece


def argument_pieces(text: str, shape: Shape = ANY, *, free_form: bool = False) -> list[Piece]:
    """The pieces of an argument text, character for character as recorded.

    No text at all is written as an empty object. A text that is not JSON, and that of a free-form tool, is one
    free string.
    """
    if free_form:
        return [Piece(text, SubClass.T)]
    return json_pieces(text or "{}", shape) or [Piece(text, SubClass.T)]


def value_pieces(value: object, shape: Shape = ANY) -> list[Piece]:
    """The pieces of one argument that stands without quotes: a string as it is, anything else as JSON."""
    if isinstance(value, str):
        return [Piece(value, shape.string_label)]
    return json_pieces(json.dumps(value, ensure_ascii=False), shape)


def json_pieces(text: str, shape: Shape = ANY) -> list[Piece]:
    """The pieces of a JSON text with what stands around it; empty when *text* is not one JSON value."""
    start = len(text) - len(text.lstrip(BLANKS))
    sink = Sink()
    sink.add(0, start, SubClass.P)
    scanned = Scanner(text, sink).scan(start, shape)
    if scanned.outcome is not Outcome.COMPLETE or text[scanned.end :].strip(BLANKS):
        return []
    sink.add(scanned.end, len(text), SubClass.P)
    return [Piece(text[sub.start : sub.end], sub.label) for sub in sink.subs()]
