"""Iterative scanner of JSON and Python literals that yields sub-spans and the value in one pass.

No recursion and no regular expression: nesting lives in an explicit stack, strings are found by their quote,
and each character is looked at a bounded number of times.
"""

from __future__ import annotations

from collections.abc import Sequence

from tokenclass.classes import SubClass
from tokenclass.formats.dialect import (
    JSON,
    Dialect,
    Outcome,
    Scanned,
    is_number,
    is_number_start,
    number,
)
from tokenclass.formats.schema import ANY, Shape
from tokenclass.formats.sink import Sink, forced_choice
from tokenclass.formats.strings import string_end, unescape

BLANKS = " \t\n\r"
_P = SubClass.P
_V = SubClass.V
_WORD_SIGNS = "+-._"
_CLOSERS = {"{": "}", "[": "]", "(": ")"}


class Frame:
    """One open container."""

    __slots__ = ("close", "fresh", "key", "members", "shape", "start")

    def __init__(self, start: int, close: str, shape: Shape, members: dict[str, object] | list[object]) -> None:
        self.start = start
        self.close = close
        self.shape = shape
        self.members = members
        self.key = ""
        self.fresh = True


class StopScan(Exception):  # noqa: N818 - control flow, not an error
    """Ends a scan before its value is complete."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome


class Scanner:
    """Scans literals of one text up to *end*, writing sub-spans to *sink*."""

    def __init__(self, text: str, sink: Sink, dialect: Dialect = JSON, end: int | None = None) -> None:
        self.text = text
        self.end = len(text) if end is None else end
        self.sink = sink
        self.dialect = dialect
        self.pos = 0
        self._add = sink.add
        self._forcing = sink.schema_known
        self._written = 0
        self._stack: list[Frame] = []
        self._value: object = None

    def scan(self, pos: int, shape: Shape = ANY, *, arguments: bool = False) -> Scanned:
        """Read the value that starts at *pos* (no blanks before it).

        With *arguments* an opening round bracket starts a list of `key=value` members. Punctuation and blanks
        are written as P, keys, strings and scalars as *shape* says.
        """
        self.pos = self._written = pos
        self._stack.clear()
        outcome = Outcome.COMPLETE
        try:
            self._run(shape, arguments)
        except StopScan as stop:
            outcome = stop.outcome
        if outcome is Outcome.CUT:
            self.pos = self.end
        self._flush(self.pos)
        starts = tuple(frame.start for frame in self._stack)
        value = self._stack[0].members if self._stack else self._value
        return Scanned(outcome, self.pos, value, starts)

    def _run(self, shape: Shape, arguments: bool) -> None:
        done = self._begin(shape, arguments=arguments)
        while True:
            if done:
                if not self._stack:
                    return
                done = self._after_value(self._stack[-1])
                continue
            frame = self._stack[-1]
            self._blanks()
            if frame.fresh and self._peek() == frame.close:
                self._force_close(frame)
                done = self._close(frame)
            else:
                done = self._begin(self._member(frame))

    def _peek(self) -> str:
        if self.pos >= self.end:
            raise StopScan(Outcome.CUT)
        return self.text[self.pos]

    def _blanks(self) -> None:
        text, pos, end = self.text, self.pos, self.end
        while pos < end and text[pos] in BLANKS:
            pos += 1
        self.pos = pos

    def _flush(self, upto: int) -> None:
        self.sink.add(self._written, upto, _P)
        self._written = upto

    def _emit(self, start: int, end: int, label: SubClass) -> None:
        """Write what stands between the last token and *start* as P, then the token; an empty one is ignored."""
        if end > start:
            if start > self._written:
                self._add(self._written, start, _P)
            self._add(start, end, label)
            self._written = end

    def _begin(self, shape: Shape, *, arguments: bool = False) -> bool:
        """Start a value: push a container (False) or read a whole scalar (True)."""
        self._blanks()
        char = self._peek()
        if char == "{" or (arguments and char == "("):
            self._force_opening(shape, "object")
            self._stack.append(Frame(self.pos, _CLOSERS[char], shape, {}))
        elif char == "[" or (char == "(" and self.dialect.tuples):
            self._force_opening(shape, "array")
            self._stack.append(Frame(self.pos, _CLOSERS[char], shape, []))
        elif char in self.dialect.quotes:
            self._force_opening(shape, "string")
            self._value = self._quoted(shape.string_label, shape.enum)
            return True
        else:
            self._value = self._scalar(shape)
            return True
        self.pos += 1
        return False

    def _member(self, frame: Frame) -> Shape:
        """Read up to a member's value and return the value's shape."""
        if isinstance(frame.members, list):
            frame.fresh = False
            return frame.shape.item()
        if self._forcing and frame.fresh and frame.shape.required and not self.dialect.bare_keys:
            self.sink.force(self.pos, self.pos + 1)
        frame.fresh = False
        frame.key = self._key(frame)
        key_end = self.pos
        self._blanks()
        if self._peek() not in self.dialect.assign:
            raise StopScan(Outcome.BAD)
        self.pos += 1
        self._blanks()
        if self._forcing:
            self.sink.force(key_end, self.pos)
        return frame.shape.child(frame.key, frame.members)

    def _key(self, frame: Frame) -> str:
        options: Sequence[str] = ()
        if self._forcing and frame.shape.keys:
            options = [key for key in frame.shape.keys if key not in frame.members]
        if self._peek() in self.dialect.quotes:
            return self._quoted(frame.shape.key_label, options)
        if self.dialect.bare_keys or frame.close == ")":
            return self._bare_key(frame.shape.key_label, options)
        raise StopScan(Outcome.BAD)

    def _bare_key(self, label: SubClass, options: Sequence[str]) -> str:
        start = pos = self.pos
        text, end = self.text, self.end
        while pos < end and (text[pos].isalnum() or text[pos] in "_-.$"):
            pos += 1
        if pos == start:
            raise StopScan(Outcome.BAD)
        self._emit(start, pos, label)
        self.pos = pos
        if pos == end:
            raise StopScan(Outcome.CUT)
        forced_choice(self.sink, start, text[start:pos], options)
        return text[start:pos]

    def _after_value(self, frame: Frame) -> bool:
        """Attach the finished value, then read a comma (False: another member) or the closer (True)."""
        if isinstance(frame.members, list):
            frame.members.append(self._value)
        else:
            frame.members[frame.key] = self._value
        value_end = self.pos
        self._blanks()
        char = self._peek()
        if char == frame.close:
            self._force_close(frame)
            return self._close(frame)
        if char != ",":
            raise StopScan(Outcome.BAD)
        self.pos += 1
        self._blanks()
        if self._forcing and isinstance(frame.members, dict):
            self._force_comma(frame.members, frame.shape, value_end)
        if self.dialect.tuples and self._peek() == frame.close:
            return self._close(frame)
        return False

    def _close(self, frame: Frame) -> bool:
        self.pos += 1
        self._value = frame.members
        self._stack.pop()
        return True

    def _quoted(self, label: SubClass, options: Sequence[str]) -> str:
        quote = self.text[self.pos]
        if self.dialect.tuples and self.text.startswith(quote * 3, self.pos):
            return self._triple(quote * 3, label)
        start = self.pos + 1
        close = string_end(self.text, start, self.end, quote)
        if close < 0:
            self._emit(start, self.end, label)
            raise StopScan(Outcome.CUT)
        self._emit(start, close, label)
        self.pos = close + 1
        raw = self.text[start:close]
        if options and forced_choice(self.sink, start, raw, options):
            self.sink.force(close, close + 1)
        return unescape(raw, python=self.dialect.python_escapes or quote == "'")

    def _triple(self, quotes: str, label: SubClass) -> str:
        start = self.pos + 3
        close = self.text.find(quotes, start, self.end)
        self._emit(start, self.end if close < 0 else close, label)
        if close < 0:
            raise StopScan(Outcome.CUT)
        self.pos = close + 3
        return unescape(self.text[start:close], python=True)

    def _scalar(self, shape: Shape) -> object:
        del shape
        text, start, end = self.text, self.pos, self.end
        stop = start
        while stop < end and (text[stop].isalnum() or text[stop] in _WORD_SIGNS):
            stop += 1
        word = text[start:stop]
        words = self.dialect.words
        if word in words or is_number(word):
            self._emit(start, stop, _V)
            self.pos = stop
            if word not in words:
                return number(word)
            self.sink.force(start + 1, stop)
            return words[word]
        if stop == end and (is_number_start(word) or any(known.startswith(word) for known in words)):
            self._emit(start, stop, _V)
            raise StopScan(Outcome.CUT)
        raise StopScan(Outcome.BAD)

    def _force_opening(self, shape: Shape, kind: str) -> None:
        if self._forcing and shape.types == {kind}:
            self.sink.force(self.pos, self.pos + 1)

    def _force_comma(self, members: dict[str, object], shape: Shape, value_end: int) -> None:
        """Mark the comma behind a value if a required key is missing, and the quote of the key behind it."""
        comma = self.text.find(",", value_end)
        if shape.required - members.keys() and not self.text[value_end - 1].isdigit():
            self.sink.force(value_end, comma + 1)
        if not self.dialect.bare_keys:
            self.sink.force(comma + 1, min(self.pos + 1, self.end))

    def _force_close(self, frame: Frame) -> None:
        if not self._forcing or not frame.shape.known or not isinstance(frame.members, dict):
            return
        if frame.members.keys() >= set(frame.shape.keys) and not self.text[self.pos - 1].isdigit():
            self.sink.force(self.pos, self.pos + 1)
