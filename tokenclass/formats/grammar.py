"""What every call grammar offers to the segmenter: where a call may start, and how to read one region of calls."""

from __future__ import annotations

import re
from dataclasses import dataclass

import msgspec

from tokenclass.classes import SubClass, SubSpan
from tokenclass.formats.cursor import Call, Cursor, NotTheGrammar, TextCut
from tokenclass.formats.schema import Tools


@dataclass(frozen=True, slots=True)
class Region:
    """A stretch of text that is one tool call or several in one wrapper."""

    start: int
    end: int
    complete: bool
    """False when the text ended inside, or the grammar broke after a valid start."""
    cut: bool
    """Whether the text ended inside, so that more text might change the reading."""
    counts: bool
    """Whether this is a call if no more text comes."""
    calls: tuple[Call, ...]
    subs: tuple[SubSpan, ...]
    forced: tuple[tuple[int, int], ...]


class Grammar(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind"):
    """A way to write tool calls. Subclasses are declarations: their fields are the spelling of one format."""

    def openers(self) -> tuple[str, ...]:
        """Literals that a region may start with."""
        raise NotImplementedError

    def closers(self) -> tuple[str, ...]:
        """Literals that end a region; a region whose grammar breaks runs to the first of them."""
        return ()

    def pattern(self) -> str:
        """Regular expression of the places where a region may start."""
        return "|".join(re.escape(opener) for opener in sorted(self.openers(), key=len, reverse=True))

    def read(self, cur: Cursor) -> None:
        """Read one region. Raises NotTheGrammar (no call here, or a broken one) or TextCut (the text ended)."""
        raise NotImplementedError

    def partial(self, tail: str) -> bool:
        """Whether *tail*, standing at the end of a text, may be the beginning of an opener."""
        return any(opener != tail and opener.startswith(tail) for opener in self.openers())

    def accepts_cut(self, cur: Cursor) -> bool:
        """Whether a region that the end of the text cuts before it is certain still counts as one."""
        return not cur.text[cur.start].isalnum()


class FirstOf(Grammar, frozen=True, tag="first_of"):
    """Several spellings of one family, tried in order."""

    options: tuple[Grammar, ...]

    def openers(self) -> tuple[str, ...]:
        """Literals that a region may start with."""
        return tuple(dict.fromkeys(opener for option in self.options for opener in option.openers()))

    def closers(self) -> tuple[str, ...]:
        """Literals that end a region."""
        return tuple(dict.fromkeys(closer for option in self.options for closer in option.closers()))

    def pattern(self) -> str:
        """Regular expression of the places where a region may start."""
        return "|".join(option.pattern() for option in self.options)

    def partial(self, tail: str) -> bool:
        """Whether *tail*, at the end of a text, may be the beginning of an opener."""
        return any(option.partial(tail) for option in self.options)


class RegionReader:
    """Reads regions of one grammar; remembers the starts that cannot lead anywhere, so no work is repeated."""

    def __init__(self, grammar: Grammar, tools: Tools) -> None:
        self.tools = tools
        self.options = grammar.options if isinstance(grammar, FirstOf) else (grammar,)
        self._matchers = [re.compile(option.pattern()) for option in self.options]
        self._openers = re.compile(grammar.pattern())
        self._dead: set[int] = set()
        self._dead_until = 0
        self._found: dict[str, tuple[int, int]] = {}
        self.work = 0
        """Characters read so far, attempts that led nowhere included."""

    def read(self, text: str, pos: int) -> Region | None:
        """The region that starts at *pos*, or None if no call of this grammar starts there."""
        if pos in self._dead or pos < self._dead_until:
            return None
        for option, matcher in zip(self.options, self._matchers, strict=True):
            if matcher.match(text, pos):
                region = self._read_one(option, text, pos)
                if region is not None:
                    return region
        return None

    def forget(self) -> None:
        """Drop what was remembered: the text has grown, or its offsets have moved."""
        self._dead.clear()
        self._dead_until = 0
        self._found.clear()

    def _read_one(self, grammar: Grammar, text: str, pos: int) -> Region | None:
        cur = Cursor(text, pos, self.tools, self._found)
        complete = cut = False
        counts = True
        try:
            grammar.read(cur)
            complete = True
        except TextCut:
            cut = True
            counts = cur.committed or grammar.accepts_cut(cur)
            if not counts:
                self._dead.update(cur.failed_starts)
            cur.pos = cur.end
            cur.sink.fill(pos, cur.end, SubClass.D)
        except NotTheGrammar:
            self._dead.update(cur.failed_starts)
            self._dead_until = max(self._dead_until, cur.dead_until)
            if not cur.committed:
                self.work += cur.pos - pos
                return None
            cut = self._resync(grammar, cur)
        self.work += cur.pos - pos
        subs, forced = tuple(cur.sink.subs()), tuple(cur.sink.forced(cur.pos))
        return Region(pos, cur.pos, complete, cut, counts, tuple(cur.calls), subs, forced)

    def _resync(self, grammar: Grammar, cur: Cursor) -> bool:
        """After a broken call: go behind the region's closer if it comes before the next region.

        Returns whether neither was found, so that the region runs to the text's end.
        """
        closers = grammar.closers()
        if not closers:
            return False
        broken_at = cur.pos
        following = self._openers.search(cur.text, max(broken_at, cur.start + 1))
        limit = following.start() if following else cur.end
        ends = [at for closer in closers if (at := cur.text.find(closer, broken_at, limit)) >= 0]
        stop = min(ends, default=limit)
        cur.sink.fill(cur.start, stop, SubClass.T)
        cur.pos = stop
        if ends:
            cur.take(*closers)
        return not ends and following is None
