"""Calls written as Python calls with keyword arguments: `[f(a=1, b="x"), g()]` or one call a line."""

from __future__ import annotations

import re

from tokenclass.classes import SubClass
from tokenclass.formats.cursor import Cursor, NotTheGrammar, TextCut
from tokenclass.formats.dialect import PYTHON
from tokenclass.formats.grammar import Grammar
from tokenclass.formats.wrapper import skip_blanks

_NAME = re.compile(r"[A-Za-z_][\w.\-]*")
_BARE_START = r"\[(?=\s*[A-Za-z_][\w.\-]*\()"
_LONGEST_HEAD = 64


class PythonCalls(Grammar, frozen=True, tag="pythonic"):
    """A list of calls between delimiters, or a bare list whose names are all known tools."""

    opener: tuple[str, ...] = ()
    closer: tuple[str, ...] = ()
    bare: bool = False
    """Whether a list without delimiters counts."""
    lines: bool = False
    """Whether calls stand one a line, without a list around them."""

    def openers(self) -> tuple[str, ...]:
        """Literals that a region may start with."""
        return self.opener

    def closers(self) -> tuple[str, ...]:
        """Literals that end a region."""
        return self.closer

    def pattern(self) -> str:
        """Regular expression of the places where a region may start."""
        starts = [re.escape(opener) for opener in self.opener]
        return "|".join([*starts, _BARE_START] if self.bare else starts)

    def partial(self, tail: str) -> bool:
        """Whether *tail*, at the end of a text, may be the beginning of an opener."""
        if super().partial(tail):
            return True
        return self.bare and re.fullmatch(r"\[\s*(?:[A-Za-z_][\w.\-]*)?", tail) is not None

    def accepts_cut(self, cur: Cursor) -> bool:
        """Whether a region cut before it is certain counts as one."""
        if cur.text.startswith("[", cur.start) and not cur.text.startswith(self.opener or ("\0",), cur.start):
            return cur.end - cur.start <= _LONGEST_HEAD and not cur.text[: cur.start].strip()
        return True

    def read(self, cur: Cursor) -> None:
        """Read one region."""
        bare = cur.take(*self.opener, free=0) is None if self.opener else True
        cur.blanks()
        cur.more()
        listed = cur.at("[")
        if listed:
            cur.sink.add(cur.pos, cur.pos + 1, SubClass.P)
            cur.pos += 1
        elif not self.lines:
            raise NotTheGrammar
        self._calls(cur, listed=listed, bare=bare)
        if not bare:
            cur.blanks()
            cur.take(*self.closer)

    def _calls(self, cur: Cursor, *, listed: bool, bare: bool) -> None:
        while True:
            cur.blanks()
            cur.more()
            if listed and cur.at("]"):
                break
            if not listed and (cur.at(*self.closer) or cur.begins(*self.closer)):
                return
            self._one(cur, bare=bare)
            pos = skip_blanks(cur.text, cur.pos)
            comma = cur.text.startswith(",", pos)
            if comma:
                cur.sink.add(cur.pos, pos + 1, SubClass.P)
                cur.pos = pos + 1
            elif listed:
                cur.blanks()
                cur.more()
                if not cur.at("]"):
                    cur.committed = cur.committed and not bare
                    raise NotTheGrammar
        cur.sink.add(cur.pos, cur.pos + 1, SubClass.P)
        cur.pos += 1
        cur.committed = True

    def _one(self, cur: Cursor, *, bare: bool) -> None:
        found = _NAME.match(cur.text, cur.pos)
        name = found[0] if found else ""
        stop = cur.pos + len(name)
        if stop >= cur.end and name:
            cur.sink.add(cur.pos, stop, SubClass.N)
            cur.pos = stop
            if bare and cur.tools.given and not any(known.startswith(name) for known in cur.tools.names):
                cur.committed = False
                raise NotTheGrammar
            raise TextCut
        if not name or cur.text[stop] != "(" or (bare and not cur.tools.allows(name)):
            cur.committed = cur.committed and not bare
            raise NotTheGrammar
        cur.committed = True
        start = cur.pos
        cur.sink.add(start, stop, SubClass.N)
        cur.pos = stop
        scanned = cur.scan(cur.tools.shape(name), PYTHON, arguments=True)
        try:
            cur.add_call(name, cur.settle(scanned))
        except NotTheGrammar:
            cur.committed = not bare
            cur.failed_starts = (*scanned.open_starts, cur.start)
            raise
