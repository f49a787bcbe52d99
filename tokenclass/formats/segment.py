"""Splits a completion into reasoning, prose and call regions for families that mark them by tags.

The segmenter can be given a growing text: it emits only what no further text can change, and goes on from there.
"""

from __future__ import annotations

import re

from tokenclass.classes import PositionClass, SubClass, SubSpan
from tokenclass.formats.boundary import LOOKAHEAD, Segment, joined, with_tail
from tokenclass.formats.family import Family, ReasoningEnd
from tokenclass.formats.grammar import Region, RegionReader
from tokenclass.formats.literals import BLANKS
from tokenclass.formats.reasoning import Reasoning
from tokenclass.formats.schema import Tools

_PARTIAL_WINDOW = 256
_NOTHING = re.compile(r"(?!)")
_QUOTES = "`'\""
_FENCE = "```"


class TagSegmenter:
    """Segments one completion. Feed the whole text with *final*, or a growing one without."""

    def __init__(self, family: Family, tools: Tools, prompt_tail: str, reasoning_end: ReasoningEnd) -> None:
        self._family = family
        self._reasoning_end = reasoning_end
        self.reader = RegionReader(family.calls, tools) if family.calls else None
        reasoning = family.reasoning
        self._opener = re.compile(reasoning.opener_pattern()) if reasoning else _NOTHING
        self._closer = re.compile(reasoning.closer_pattern()) if reasoning else _NOTHING
        self._calls = re.compile(family.calls.pattern()) if family.calls else _NOTHING
        self._openers = family.calls.openers() if family.calls else ()
        self._marks = re.compile("|".join(f"(?:{p.pattern})" for p in (self._opener, self._closer, self._calls)))
        self._thinking = bool(reasoning and reasoning.open_after(prompt_tail))
        self._unproven = self._thinking and bool(reasoning and reasoning.disproof)
        self._maybe_thinking = bool(reasoning and reasoning.implied) and not prompt_tail and not self._thinking
        self._last: PositionClass | None = None
        self._prose_seen = False
        self._ink = (-1, -1)
        self._known_closer: tuple[int, re.Match[str] | None] = (0, None)
        self._closer_searched = False
        self._fences = 0
        self._fences_upto = 0
        self.pos = 0
        """Offset up to which segments have been emitted."""

    def run(self, text: str, *, final: bool) -> list[Segment]:
        """The segments that follow the last emitted one; with *final* up to the end of *text*."""
        self._text = text
        self._final = final
        self._out: list[Segment] = []
        self._closer_searched = False
        self._ink = (-1, -1)
        if self.reader:
            self.reader.forget()
        while self.pos < len(text):
            if not (self._in_reasoning() if self._thinking else self._in_prose()):
                break
        return self._out

    def shift(self, count: int) -> None:
        """Note that the text lost its first *count* characters, all of them emitted before."""
        self.pos -= count
        self._fences_upto = max(self._fences_upto - count, 0)

    # -- prose --------------------------------------------------------------------------------------------

    def _in_prose(self) -> bool:
        """Go on in prose; returns whether something was decided."""
        text = self._text
        for mark in self._marks.finditer(text, self.pos):
            at = mark.start()
            if self._opener.match(text, at):
                decision = self._opens(mark)
                if decision is None:
                    return self._hold(at)
                if decision:
                    self._prose_until(at)
                    self._maybe_thinking = False
                    self._thinking = True
                    return True
            elif self._closer.match(text, at):
                if self._maybe_thinking and mark.end() >= len(text) and not self._final:
                    return self._hold(at)
                if self._maybe_thinking and self._closes_unopened(mark):
                    return self._end_reasoning(self.pos, mark.end())
            elif (decision := self._try_region(at)) is None:
                return self._hold(at)
            elif decision:
                return True
        return self._rest_of_prose()

    def _try_region(self, at: int) -> bool | None:
        """Emit the call region at *at*, prose before it included; None: more text is needed to decide."""
        region = self.reader.read(self._text, at) if self.reader else None
        if region is None:
            return False
        if region.cut and not self._final:
            return None
        if not region.counts or self._quoted(region):
            return False
        end, subs = self._tail(region.end)
        if not self._final and len(self._text) - end < LOOKAHEAD:
            return None
        self._prose_until(at)
        self._maybe_thinking = False
        self._emit_region(region, end, subs)
        return True

    def _quoted(self, region: Region) -> bool:
        before = self._text[region.start - 1 : region.start]
        return bool(before) and before in _QUOTES and self._text[region.end : region.end + 1] == before

    def _emit_region(self, region: Region, end: int, tail: list[SubSpan]) -> None:
        start = self.pos
        head = [SubSpan(start, region.start, SubClass.P)]
        subs = joined(head, region.subs, tail)
        self._emit(Segment(start, end, PositionClass.S, subs, region.calls, region.forced))

    def _tail(self, end: int) -> tuple[int, list[SubSpan]]:
        return with_tail(self._text, end, self._family.glued, self._openers)

    def _opens(self, mark: re.Match[str]) -> bool | None:
        """Whether a reasoning opener in prose is one; None: more text is needed to decide."""
        reasoning = self._rules
        at = mark.start()
        fresh = not self._prose_seen and self._blank_until(at)
        if reasoning.start_only:
            return self._last is None and fresh
        if reasoning.anywhere or fresh:
            return True
        if self._text[at - 1] != "\n" or self._in_fence(at):
            return False
        if self._next_closer(mark.end()) or self._text.startswith("\n", mark.end()):
            return True
        return False if self._final else None

    def _blank_until(self, at: int) -> bool:
        """Whether only blanks stand between the current offset and *at*."""
        if self._ink[0] != self.pos:
            ink = self.pos
            while ink < len(self._text) and self._text[ink] in BLANKS:
                ink += 1
            self._ink = (self.pos, ink)
        return self._ink[1] >= at

    def _next_closer(self, pos: int) -> re.Match[str] | None:
        """The next reasoning closer from *pos* on; repeated questions cost nothing."""
        searched_from, found = self._known_closer
        if not self._closer_searched or searched_from > pos or (found is not None and found.start() < pos):
            found = self._closer.search(self._text, pos)
            self._known_closer = (pos, found)
            self._closer_searched = True
        return found

    @property
    def _rules(self) -> Reasoning:
        return self._family.reasoning or Reasoning()

    def _in_fence(self, at: int) -> bool:
        """Whether a markdown fence is open at *at* in the current prose."""
        fence = self._text.find(_FENCE, self._fences_upto, at)
        while fence >= 0:
            self._fences += 1
            self._fences_upto = fence + len(_FENCE)
            fence = self._text.find(_FENCE, self._fences_upto, at)
        self._fences_upto = max(self._fences_upto, at - len(_FENCE) + 1)
        return self._fences % 2 == 1

    def _closes_unopened(self, mark: re.Match[str]) -> bool:
        """Whether a closer without opener ends a reasoning that the prompt began, rather than being quoted."""
        before = self._text[mark.start() - 1 : mark.start()]
        after = self._text[mark.end() : mark.end() + 1]
        return before not in set(_QUOTES) and after not in {" ", ".", ",", ";", ":", ")", "]", *_QUOTES}

    def _prose_until(self, at: int) -> None:
        if at > self.pos and (self._prose_seen or not self._blank_until(at)):
            self._emit(Segment(self.pos, at, PositionClass.F))

    def _rest_of_prose(self) -> bool:
        text = self._text
        keep = self._partial_from(self.pos)
        if not self._final:
            return self._hold(keep)
        if keep == len(text) or not self._counts_as_cut(keep):
            self._emit(Segment(self.pos, len(text), PositionClass.F))
            return False
        self._prose_until(keep)
        tail = text[keep:]
        if self._family.calls and self._family.calls.partial(tail):
            subs = joined([SubSpan(self.pos, keep, SubClass.P)], [SubSpan(keep, len(text), SubClass.D)])
            self._emit(Segment(self.pos, len(text), PositionClass.S, subs))
        else:
            self._emit(Segment(self.pos, len(text), PositionClass.R))
        return False

    def _counts_as_cut(self, at: int) -> bool:
        """Whether the beginning of a tag at the very end counts: not for a word's letters or a lone sign in a line."""
        text = self._text
        at_line_start = at == 0 or text[at - 1] == "\n"
        if text[at].isalnum():
            return False
        if self._family.calls and self._family.calls.partial(text[at:]) and len(text) - at > 1:
            return True
        return at_line_start and len(text) - at > 1

    def _partial_from(self, start: int) -> int:
        """Offset from which the end of the text may be the beginning of a tag; its length if none may."""
        text = self._text
        reasoning, calls = self._family.reasoning, self._family.calls
        for at in range(max(start, len(text) - _PARTIAL_WINDOW), len(text)):
            tail = text[at:]
            if (calls and calls.partial(tail)) or (reasoning and reasoning.partial(tail)):
                return at
        return len(text)

    def _hold(self, upto: int) -> bool:
        """Emit prose up to *upto* if it is certain to be prose, and wait for more text."""
        if not self._maybe_thinking:
            self._prose_until(upto)
        return False

    # -- reasoning ----------------------------------------------------------------------------------------

    def _in_reasoning(self) -> bool:
        """Go on inside the reasoning that begins (or goes on) at the current offset."""
        text = self._text
        opened = self._opener.match(text, self.pos)
        body = opened.end() if opened else self.pos
        if self._unproven and not self._proven(body):
            return False
        if not self._thinking:
            return True
        closer, region, open_ended = self._first_end(body)
        if region is not None and open_ended and not self._final:
            return self._reasoning_until(region.start)
        if region is not None:
            return self._leave_for(region)
        if closer is not None:
            return self._end_reasoning(self.pos, closer.end())
        return self._rest_of_reasoning(body)

    def _first_end(self, body: int) -> tuple[re.Match[str] | None, Region | None, bool]:
        """What ends the reasoning: a closer outside any draft call, or a call; neither if the text ends first.

        A closer inside a complete call is an argument's text, unless another call begins behind it in there:
        then the draft was left unfinished. The flag says whether more text could change the answer.
        """
        first: Region | None = None
        pos = body
        early = self._family.calls_in_reasoning or self._reasoning_end is ReasoningEnd.TOOL_TOKEN
        while True:
            closer = self._next_closer(pos)
            region = self._region_between(pos, closer.start() if closer else len(self._text))
            if region is None:
                return (closer, None, False) if closer else (None, first, False)
            if early and (region.complete or not closer):
                return None, region, region.cut
            if closer is None and not region.complete:
                return None, first or region, region.cut
            if closer is not None and not self._is_argument(closer, region):
                return closer, None, False
            first = first or region
            if not region.complete:
                return None, first, True
            pos = region.end

    def _is_argument(self, closer: re.Match[str], region: Region) -> bool:
        """Whether *closer*, or a complete call before it, leaves the reasoning open."""
        if closer.start() >= region.end:
            return region.complete
        if self._calls.search(self._text, closer.end(), region.end):
            return False
        return region.complete or not self._final

    def _region_between(self, start: int, stop: int) -> Region | None:
        if self.reader is None:
            return None
        for mark in self._calls.finditer(self._text, start, stop):
            region = self.reader.read(self._text, mark.start())
            if region is not None and (region.counts or not self._final) and not self._quoted(region):
                return region
        return None

    def _leave_for(self, region: Region) -> bool:
        """End or interrupt the reasoning at a call."""
        later = self._next_closer(region.end)
        end, tail = self._tail(region.end)
        if self._family.calls_in_reasoning:
            decided = later is not None
        else:
            decided = self._reasoning_end is ReasoningEnd.TOOL_TOKEN
        if not self._final and (not decided or len(self._text) - end < LOOKAHEAD):
            return self._reasoning_until(region.start)
        if region.start > self.pos:
            self._emit(Segment(self.pos, region.start, PositionClass.R))
        self._thinking = self._family.calls_in_reasoning and later is not None
        self._emit_region(region, end, tail)
        return True

    def _reasoning_until(self, at: int) -> bool:
        """Emit reasoning up to *at* and wait for more text."""
        if at > self.pos:
            self._emit(Segment(self.pos, at, PositionClass.R))
        return False

    def _end_reasoning(self, start: int, end: int) -> bool:
        end, _ = self._tail(end)
        if not self._final and len(self._text) - end < LOOKAHEAD:
            return False
        self._thinking = self._maybe_thinking = self._unproven = False
        self._emit(Segment(start, end, PositionClass.R))
        return True

    def _rest_of_reasoning(self, body: int) -> bool:
        text = self._text
        keep = max(self._partial_from(body), body)
        if not self._final:
            return self._reasoning_until(keep if keep > body else self.pos)
        calls = self._family.calls
        cut_call = (
            len(text) - keep > 2 and calls is not None and calls.partial(text[keep:]) and self._counts_as_cut(keep)
        )
        if not cut_call:
            keep = len(text)
        if keep > self.pos:
            self._emit(Segment(self.pos, keep, PositionClass.R))
        if cut_call:
            self._emit(Segment(keep, len(text), PositionClass.S, (SubSpan(keep, len(text), SubClass.D),)))
        return False

    def _proven(self, body: int) -> bool:
        """Settle whether reasoning that the prompt opened is one at all; False: more text is needed."""
        disproof = self._text.find(self._rules.disproof, body)
        closer = self._next_closer(body)
        if disproof < 0 and closer is None and not self._final:
            return False
        self._unproven = False
        if disproof >= 0 and (closer is None or disproof < closer.start()):
            self._thinking = False
        return True

    def _emit(self, segment: Segment) -> None:
        self._out.append(segment)
        self._prose_seen = segment.label is PositionClass.F
        if self._prose_seen:
            self._in_fence(segment.end)
        else:
            self._fences = 0
            self._fences_upto = segment.end
        self._last = segment.label
        self.pos = segment.end
