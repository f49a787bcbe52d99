"""Gemma calls: `call:NAME{key:value,...}` with bare keys and strings between delimiter tokens."""

from __future__ import annotations

from tokenclass.classes import SubClass
from tokenclass.formats.cursor import Cursor, NotTheGrammar, overlap
from tokenclass.formats.dialect import Dialect, Outcome
from tokenclass.formats.grammar import Grammar
from tokenclass.formats.literals import BLANKS, Frame, Scanner, StopScan
from tokenclass.formats.schema import Shape

_DIALECT = Dialect(quotes="\"'", bare_keys=True, assign=":=", python_escapes=False)
_VALUE_ENDS = ",]})"


class GemmaCalls(Grammar, frozen=True, tag="gemma"):
    """`opener` NAME `{...}` `closer`; strings stand between two *delimiter* tokens."""

    opener: str
    closer: str
    delimiter: str

    def openers(self) -> tuple[str, ...]:
        """Literals that a region may start with."""
        return (self.opener,)

    def closers(self) -> tuple[str, ...]:
        """Literals that end a region."""
        return (self.closer,)

    def read(self, cur: Cursor) -> None:
        """Read one region."""
        cur.need(self.opener, free=0)
        name = cur.word(SubClass.N, "{(<", cur.tools.names)
        cur.blanks()
        cur.more()
        if not name or not cur.at("{", "("):
            raise NotTheGrammar
        cur.committed = True
        scanner = _GemmaScanner(cur, self.delimiter, self.closer)
        scanned = scanner.scan(cur.pos, cur.tools.shape(name), arguments=True)
        cur.pos = scanned.end
        cur.add_call(name, cur.settle(scanned))
        cur.blanks()
        cur.take(self.closer)


class _GemmaScanner(Scanner):
    """A scanner that knows raw strings between delimiter tokens and strings that lack the first of them."""

    def __init__(self, cur: Cursor, delimiter: str, stop: str) -> None:
        super().__init__(cur.text, cur.sink, _DIALECT)
        self._find = cur.find
        self._delimiter = delimiter
        self._stop = stop

    def _begin(self, shape: Shape, *, arguments: bool = False) -> bool:
        self._blanks()
        if self._at_delimiter():
            self._value = self._delimited(shape.string_label, _VALUE_ENDS)
            return True
        return super()._begin(shape, arguments=arguments)

    def _key(self, frame: Frame) -> str:
        if self._at_delimiter():
            return self._delimited(frame.shape.key_label, ":=")
        return super()._key(frame)

    def _at_delimiter(self) -> bool:
        if self.text.startswith(self._delimiter, self.pos):
            return True
        rest = self.text[self.pos : self.pos + len(self._delimiter)]
        if rest and self.pos + len(rest) == self.end and self._delimiter.startswith(rest):
            self._emit(self.pos, self.end, SubClass.D)
            raise StopScan(Outcome.CUT)
        return False

    def _delimited(self, label: SubClass, ends: str) -> str:
        size = len(self._delimiter)
        start = self.pos + size
        self._emit(self.pos, start, SubClass.D)
        self.sink.force(self.pos + 1, start, delimiter=True)
        close = self._delimiter_end(start, ends)
        if close < 0:
            tail = overlap(self.text, start, self._delimiter)
            self._emit(start, self.end - tail, label)
            self._emit(self.end - tail, self.end, SubClass.D)
            raise StopScan(Outcome.CUT)
        self._emit(start, close, label)
        self._emit(close, close + size, SubClass.D)
        self.sink.force(close + 1, close + size, delimiter=True)
        self.pos = close + size
        return self.text[start:close]

    def _delimiter_end(self, start: int, ends: str) -> int:
        """The first delimiter that one of *ends*, the call's end or the text's end follows."""
        at = self.text.find(self._delimiter, start)
        while at >= 0:
            after = at + len(self._delimiter)
            if after >= self.end or self.text[after] in ends or self.text.startswith(self._stop, after):
                return at
            at = self.text.find(self._delimiter, after)
        return -1

    def _scalar(self, shape: Shape) -> object:
        """A number, boolean or null; else a string whose opening delimiter is missing, or one without any."""
        text, start = self.text, self.pos
        stop = start
        while stop < self.end and text[stop] not in ",]}){[(:=" and text[stop] not in BLANKS:
            stop += 1
        while stop < self.end and text[stop] in BLANKS:
            stop += 1
        if stop >= self.end or text[stop] in _VALUE_ENDS:
            try:
                return super()._scalar(shape)
            except StopScan as scan:
                if scan.outcome is Outcome.CUT:
                    raise
                self.pos = start
        return self._bare_string(shape.string_label)

    def _bare_string(self, label: SubClass) -> str:
        start, text, size = self.pos, self.text, len(self._delimiter)
        if text[start] in ",]}):=":
            raise StopScan(Outcome.BAD)
        limit = self._find(self._stop, start)
        limit = self.end if limit < 0 else limit
        close = self._find(self._delimiter, start)
        after = close + size
        if close >= 0 and after <= limit and (after == limit or text[after] in _VALUE_ENDS):
            self._emit(start, close, label)
            self._emit(close, after, SubClass.D)
            self.pos = after
            return text[start:close]
        stop = start
        while stop < limit and text[stop] not in _VALUE_ENDS:
            stop += 1
        self._emit(start, stop, label)
        self.pos = stop
        if stop == self.end:
            raise StopScan(Outcome.CUT)
        return text[start:stop].strip()
