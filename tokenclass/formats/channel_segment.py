"""Splits a completion of a channel family into segments, one a message."""

from __future__ import annotations

from tokenclass.formats.boundary import LOOKAHEAD, Segment
from tokenclass.formats.channels import Channels, MessageReader
from tokenclass.formats.schema import Tools


class ChannelSegmenter:
    """Segments one completion. Feed the whole text with *final*, or a growing one without."""

    def __init__(self, rules: Channels, tools: Tools) -> None:
        self._messages = MessageReader(rules, tools)
        self.pos = 0
        """Offset up to which segments have been emitted."""

    def run(self, text: str, *, final: bool) -> list[Segment]:
        """The segments that follow the last emitted one; with *final* up to the end of *text*."""
        found: list[Segment] = []
        while self.pos < len(text):
            message = self._messages.read(text, self.pos)
            if not final and (not message.closed or len(text) - message.end < LOOKAHEAD):
                break
            label = message.label
            found.append(Segment(self.pos, message.end, label, message.subs, message.calls, message.forced))
            self.pos = message.end
        return found

    def shift(self, count: int) -> None:
        """Note that the text lost its first *count* characters, all of them emitted before."""
        self.pos -= count
