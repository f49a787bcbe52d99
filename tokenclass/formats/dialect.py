"""Literal languages that arguments are written in, and what a scan of them returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

_NUMBER_CHARS = frozenset("0123456789+-.eE")
_JSON_WORDS: Mapping[str, object] = {"true": True, "false": False, "null": None}
_PYTHON_WORDS: Mapping[str, object] = {**_JSON_WORDS, "True": True, "False": False, "None": None}


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a literal language allows beyond plain JSON."""

    quotes: str = '"'
    words: Mapping[str, object] = field(default_factory=lambda: _JSON_WORDS)
    bare_keys: bool = False
    """Whether keys may stand without quotes."""
    tuples: bool = False
    """Whether round brackets make a list."""
    assign: str = ":"
    """Characters that may stand between key and value."""
    python_escapes: bool = False


JSON = Dialect()
PYTHON = Dialect(quotes="\"'", words=_PYTHON_WORDS, tuples=True, python_escapes=True, assign=":=")


class Outcome(Enum):
    """How a scan ended."""

    COMPLETE = auto()
    CUT = auto()
    """The text ended inside the value."""
    BAD = auto()
    """The text breaks the grammar at the scan's end offset."""


@dataclass(frozen=True, slots=True)
class Scanned:
    """Result of a scan; *value* of a cut or bad container holds the members completed so far."""

    outcome: Outcome
    end: int
    value: object
    open_starts: tuple[int, ...] = ()
    """Where the containers still open at *end* began."""


def is_number(word: str) -> bool:
    """Whether *word* is a JSON number (a leading plus or zero is not)."""
    if not word or not _NUMBER_CHARS.issuperset(word):
        return False
    digits = word[1:] if word[0] == "-" else word
    if not digits[:1].isdigit() or (digits[0] == "0" and digits[1:2].isdigit()):
        return False
    try:
        float(word)
    except ValueError:
        return False
    return digits[-1] != "."


def number(word: str) -> int | float:
    """The value of a JSON number; an integer too long for int() becomes a float."""
    try:
        return int(word)
    except ValueError:
        return float(word)


def is_number_start(word: str) -> bool:
    """Whether *word* could grow into a number."""
    return bool(word) and _NUMBER_CHARS.issuperset(word)
