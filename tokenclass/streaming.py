"""Labels a completion while it is being received, with the same result as labelling the whole text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tokenclass.classes import PositionClass, SubClass
from tokenclass.formats.boundary import Segment
from tokenclass.formats.cursor import Call
from tokenclass.formats.family import Family, ReasoningEnd
from tokenclass.formats.registry import get_family
from tokenclass.formats.schema import Json, Tools
from tokenclass.parse import segmenter

_CONTEXT = 64
_SLACK = 16
_GROWTH = 8


class LabelRun(NamedTuple):
    """A run of characters whose labels no further text can change; offsets count from the completion's start."""

    start: int
    end: int
    label: PositionClass
    sub: SubClass


class StreamTagger:
    """Labels a completion piece by piece.

    A run is reported as soon as it is certain. A tool call is reported when it is complete and the characters
    behind it are known; reasoning in which a call was drafted, and prose after a prompt whose end is unknown
    (empty *prompt_tail*), only when what follows shows what they are. Unfinished text is read again only after
    it has grown by an eighth, so the total work is a constant multiple of the text's length.
    """

    def __init__(
        self,
        family: str | Family,
        tools: Iterable[Json] | None = None,
        prompt_tail: str = "",
        *,
        reasoning_end: str = ReasoningEnd.STRICT,
    ) -> None:
        rules = get_family(family) if isinstance(family, str) else family
        self._segmenter = segmenter(rules, Tools(tools), prompt_tail, ReasoningEnd(reasoning_end))
        self._pieces: list[str] = []
        self._text = ""
        self._pending = 0
        self._wait_for = 1
        self._dropped = 0
        self._calls: list[Call] = []
        self.work = 0
        """Characters read so far, those read again included."""

    @property
    def calls(self) -> list[Call]:
        """The complete calls in the text that is certain so far."""
        return list(self._calls)

    def feed(self, piece: str) -> list[LabelRun]:
        """Append *piece* to the completion and return the runs that have become certain."""
        self._pieces.append(piece)
        self._pending += len(piece)
        if self._pending < self._wait_for:
            return []
        runs = self._advance(final=False)
        left = len(self._text) - self._segmenter.pos
        self._wait_for = max(_SLACK, left // _GROWTH)
        return runs

    def close(self) -> list[LabelRun]:
        """End the completion and return the runs of everything not yet reported."""
        return self._advance(final=True)

    def _advance(self, *, final: bool) -> list[LabelRun]:
        self._text += "".join(self._pieces)
        self._pieces.clear()
        self._pending = 0
        self.work += len(self._text) - self._segmenter.pos
        runs = [run for segment in self._segmenter.run(self._text, final=final) for run in self._runs(segment)]
        self._drop()
        return runs

    def _runs(self, segment: Segment) -> list[LabelRun]:
        shift = self._dropped
        self._calls.extend(segment.calls)
        if segment.label is PositionClass.S:
            subs = (sub for sub in segment.subs if sub.end > sub.start)
            return [LabelRun(s.start + shift, s.end + shift, segment.label, s.label) for s in subs]
        sub = SubClass.R if segment.label is PositionClass.R else SubClass.F
        return [LabelRun(segment.start + shift, segment.end + shift, segment.label, sub)]

    def _drop(self) -> None:
        """Forget text that is certain, but for a few characters that later decisions look back at."""
        keep_from = max(0, self._segmenter.pos - _CONTEXT)
        while keep_from > 0 and self._text[keep_from].isspace():
            keep_from -= 1
        if keep_from > len(self._text) // 2 or keep_from > 65536:
            self._segmenter.shift(keep_from)
            self._text = self._text[keep_from:]
            self._dropped += keep_from
