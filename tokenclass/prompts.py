"""Prompts as segments; what a prompt shares with the one before it is not looked at again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from tokenclass.layout import Part, PromptLayout, Unit, message_units
from tokenclass.pieces import Hidden
from tokenclass.segments import SegmentTableBuilder, TokenCache, text_runs
from traces.model import Message

Ranges = Sequence[tuple[int, int]]


class PromptTagger:
    """Tags the prompts of one session in the order of its turns."""

    def __init__(
        self, layout: PromptLayout, messages: Sequence[Message], cache: TokenCache, table: SegmentTableBuilder
    ) -> None:
        self._layout = layout
        self._messages = messages
        self._cache = cache
        self._table = table
        self._known: dict[tuple[object, ...], list[int]] = {}
        self._ranges: Ranges = ()
        self._units: list[Unit] = []
        self._units_after: list[int] = [0]
        """Units of the last prompt up to each of its messages."""
        self._last_query = -1
        self._segments: list[int] = []
        self._segments_after: list[int] = []
        self._tokens_after: list[int] = []
        """Segments and tokens of the last prompt before its first unit and after each of them."""

    def tag(self, ranges: Ranges) -> tuple[NDArray[np.int32], int]:
        """The segments of the prompt of these message ranges, and its length in tokens."""
        self._extend(ranges)
        header = self._numbers(self._layout.header())
        tokens = self._tokens_after[-1] + sum(map(self._table.tokens, header))
        return np.array([*self._segments, *header], np.int32), tokens

    def _extend(self, ranges: Ranges) -> None:
        shared_messages = _shared(self._ranges, ranges)
        shared = self._units_after[shared_messages]
        del self._units[shared:], self._units_after[shared_messages + 1 :]
        for message in _from(ranges, shared_messages):
            self._units += message_units(message, self._messages[message])
            self._units_after.append(len(self._units))
        query = self._query(shared)
        same = shared - 1 if query == self._last_query else min(shared - 1, self._last_query + 1, query + 1)
        self._ranges, self._last_query = tuple(ranges), query
        self._write(max(0, same))

    def _query(self, shared: int) -> int:
        """Number of the last user unit, -1 if there is none; the first *shared* units are the last prompt's."""
        users = (at for at in range(len(self._units) - 1, shared - 1, -1) if self._units[at].role == "user")
        found = next(users, None)
        if found is not None:
            return found
        if self._last_query < shared:
            return self._last_query
        return next((at for at in range(shared - 1, -1, -1) if self._units[at].role == "user"), -1)

    def _write(self, same: int) -> None:
        """Write the units from number *same* on; the last shared one may be joined to its new neighbour."""
        if same == 0:
            self._segments = self._numbers(self._layout.opening(self._units[0] if self._units else None))
            self._segments_after = [len(self._segments)]
            self._tokens_after = [sum(map(self._table.tokens, self._segments))]
        del self._segments_after[same + 1 :], self._tokens_after[same + 1 :]
        del self._segments[self._segments_after[-1] :]
        for at in range(same, len(self._units)):
            numbers = self._numbers(self._layout.unit_parts(self._units, at, self._last_query))
            self._segments += numbers
            self._segments_after.append(len(self._segments))
            self._tokens_after.append(self._tokens_after[-1] + sum(map(self._table.tokens, numbers)))

    def _numbers(self, parts: Iterable[Part]) -> list[int]:
        numbers: list[int] = []
        for part in parts:
            if part.identity not in self._known:
                self._known[part.identity] = self._written(part)
            numbers += self._known[part.identity]
        return numbers

    def _written(self, part: Part) -> list[int]:
        numbers = []
        for run in text_runs(part.write()):
            if not isinstance(run, Hidden):
                numbers.append(self._table.add_text(self._cache.ids(run)))
            elif run.tokens:
                numbers.append(self._table.add_hidden(run))
        return numbers


def _shared(old: Ranges, new: Ranges) -> int:
    """How many leading messages two prompts have in common."""
    count = 0
    for (old_start, old_end), (new_start, new_end) in zip(old, new, strict=False):
        if old_start != new_start:
            break
        count += min(old_end, new_end) - old_start
        if old_end != new_end:
            break
    return count


def _from(ranges: Ranges, skipped: int) -> Iterable[int]:
    """The messages of *ranges* in order without the first *skipped*."""
    for start, end in ranges:
        yield from range(start + min(skipped, end - start), end)
        skipped -= min(skipped, end - start)
