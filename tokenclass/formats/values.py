"""Raw values between tags: where one ends, and which type and sub-class its text has."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from tokenclass.classes import SubClass
from tokenclass.formats.cursor import Cursor
from tokenclass.formats.dialect import JSON, PYTHON, Outcome, is_number, is_number_start, number
from tokenclass.formats.literals import BLANKS, Scanner
from tokenclass.formats.schema import Shape
from tokenclass.formats.sink import Sink, forced_choice
from tokenclass.formats.wrapper import skip_blanks

_WORDS: dict[str, object] = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
_MISSING = object()
_LONGEST_TAG = 96


class Typing(StrEnum):
    """Where the type of a raw value comes from."""

    SCHEMA = "schema"
    """From the tool's schema; without one, JSON if it parses, else text."""
    JSON_FIRST = "json_first"
    """JSON if it parses, else text; a string schema keeps scalars as text."""
    TEXT = "text"
    """Always text."""
    JSON = "json"
    """Always JSON."""


def raw_value(cur: Cursor, stop: int, shape: Shape, typing: Typing, *, cut: bool = False) -> object:
    """Read the raw value that ends at *stop*, write its sub-spans and return it typed.

    A value that does not parse as its type is text. With *cut* the text ended inside the value.
    """
    start = cur.pos
    cur.pos = stop
    if start == stop:
        return ""
    if typing is Typing.TEXT or (typing is not Typing.JSON and _is_text(shape)):
        return _text(cur, start, stop, shape, cut=cut)
    value = _typed(cur, start, stop, shape, cut=cut)
    if value is not _MISSING:
        return value
    return _text(cur, start, stop, shape, cut=cut)


def _is_text(shape: Shape) -> bool:
    return bool(shape.types) and shape.types <= {"string"}


def _text(cur: Cursor, start: int, stop: int, shape: Shape, *, cut: bool) -> str:
    cur.sink.add(start, stop, shape.string_label)
    raw = cur.text[start:stop]
    if shape.enum and not cut:
        forced_choice(cur.sink, start, raw, shape.enum)
    return raw


def _typed(cur: Cursor, start: int, stop: int, shape: Shape, *, cut: bool) -> object:
    text = cur.text
    inner, end = start, stop
    while inner < end and text[inner] in BLANKS:
        inner += 1
    while end > inner and text[end - 1] in BLANKS:
        end -= 1
    head = text[inner : inner + 1]
    if head in ("{", "["):
        return _container(cur, (start, inner, end, stop), shape, cut=cut)
    if head == '"' and "string" not in shape.types:
        return _container(cur, (start, inner, end, stop), shape, cut=cut)
    word = text[inner:end] if end - inner <= 400 else ""
    value = _scalar(word, shape)
    if value is _MISSING and not (cut and shape.types and _may_grow(word)):
        return _MISSING
    cur.sink.add(start, inner, SubClass.P)
    cur.sink.add(inner, end, SubClass.V)
    cur.sink.add(end, stop, SubClass.P)
    if value is True or value is False or value is None:
        cur.sink.force(inner + 1, end)
    return None if value is _MISSING else value


def _scalar(word: str, shape: Shape) -> object:
    kinds = shape.types
    if word in _WORDS:
        allowed = not kinds or ("null" if _WORDS[word] is None else "boolean") in kinds or "string" not in kinds
        return _WORDS[word] if allowed else _MISSING
    if kinds and not kinds & {"integer", "number"}:
        return _MISSING
    if is_number(word):
        return number(word)
    stripped = word.lstrip("+-0") if kinds and word.isascii() else ""
    return int(word) if stripped.isdigit() and len(word) < 100 and word.lstrip("+-").isdigit() else _MISSING


def _may_grow(word: str) -> bool:
    return is_number_start(word) or any(known.startswith(word) for known in _WORDS)


def _container(cur: Cursor, bounds: tuple[int, int, int, int], shape: Shape, *, cut: bool) -> object:
    """Scan [inner, end) as JSON, then as a Python literal; the outer blanks are P."""
    start, inner, end, stop = bounds
    for dialect in (JSON, PYTHON):
        sink = Sink(schema_known=cur.sink.schema_known)
        scanned = Scanner(cur.text, sink, dialect, end).scan(inner, shape)
        whole = scanned.outcome is Outcome.COMPLETE and scanned.end == end
        if whole or (cut and scanned.outcome is Outcome.CUT):
            cur.sink.add(start, inner, SubClass.P)
            cur.sink.extend(sink)
            cur.sink.add(end, stop, SubClass.P)
            return scanned.value
    return _MISSING


class ValueEnd(msgspec.Struct, frozen=True):
    """The grammar around a raw value, for telling a structural closer from a quoted one."""

    closer: str
    legal: tuple[str, ...]
    """What may stand behind the closer, blanks apart; the end of the text always may."""
    encloser: str = ""
    """Closer of the enclosing call."""
    after_encloser: tuple[str, ...] = ()
    """What stands behind the encloser when it ends a value whose own closer was dropped."""
    escaped_blanks: bool = False

    def find(self, cur: Cursor, next_opens: Sequence[str]) -> tuple[int, bool]:
        """Where the raw value at the cursor ends, and whether its closer stands there.

        A closer counts only where a legal continuation follows it; others are data. One of *next_opens* at a
        line's start, or the encloser, ends a value whose closer was dropped, provided the next closer is a
        legal one. (-1, False): the text ends inside the value.
        """
        pos = cur.pos
        dropped = -1
        while True:
            at = cur.find(self.closer, pos)
            if dropped < 0:
                dropped = self._dropped(cur, pos, cur.end if at < 0 else at, next_opens)
            if at < 0:
                return dropped, False
            if self._legal(cur, at + len(self.closer), self.legal):
                return (dropped, False) if dropped >= 0 else (at, True)
            dropped = -1
            pos = at + len(self.closer)

    def _legal(self, cur: Cursor, pos: int, continuations: tuple[str, ...]) -> bool:
        pos = skip_blanks(cur.text, pos)
        while self.escaped_blanks and cur.text.startswith("\\n", pos):
            pos = skip_blanks(cur.text, pos + 2)
        if cur.text.startswith(continuations, pos):
            return True
        rest = cur.text[pos : pos + _LONGEST_TAG]
        if pos + len(rest) < cur.end:
            return False
        return (self.escaped_blanks and rest == "\\") or any(c.startswith(rest) for c in continuations)

    def _dropped(self, cur: Cursor, start: int, limit: int, next_opens: Sequence[str]) -> int:
        text = cur.text
        at = cur.find(self.encloser, start) if self.encloser else -1
        while 0 <= at < limit:
            if self._legal(cur, at + len(self.encloser), self.after_encloser):
                limit = at
                break
            at = text.find(self.encloser, at + 1, limit)
        found = [limit] if at == limit else []
        for opener in next_opens:
            line = text.find("\n" + opener, start, limit)
            if line >= 0:
                found.append(line + 1)
        return min(found, default=-1)
