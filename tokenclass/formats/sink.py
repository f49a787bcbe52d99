"""Collector of what a grammar finds inside one tool call: sub-spans, and the runs its grammar forces."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tokenclass.classes import SubClass, SubSpan


class Sink:
    """Sub-spans and forced runs of a region, appended in text order; touching runs of one kind are merged."""

    __slots__ = ("_forced", "_subs", "schema_known")

    def __init__(self, *, schema_known: bool = False) -> None:
        self._subs: list[tuple[int, int, SubClass]] = []
        self._forced: list[tuple[int, int]] = []
        self.schema_known = schema_known
        """Whether tools were given: without them only fixed delimiters count as forced."""

    def add(self, start: int, end: int, label: SubClass) -> None:
        """Append the run [*start*, *end*) under *label*; an empty run is ignored."""
        if end <= start:
            return
        subs = self._subs
        if subs:
            last_start, last_end, last_label = subs[-1]
            if last_label is label and last_end == start:
                subs[-1] = (last_start, end, label)
                return
        subs.append((start, end, label))

    def fill(self, start: int, end: int, label: SubClass) -> None:
        """Append what is missing between the last sub-span (*start* if there is none) and *end*."""
        self.add(self._subs[-1][1] if self._subs else start, end, label)

    def force(self, start: int, end: int, *, delimiter: bool = False) -> None:
        """Mark [*start*, *end*) as having one legal continuation; *delimiter*: whatever the tools are."""
        if end <= start or not (delimiter or self.schema_known):
            return
        forced = self._forced
        if forced and forced[-1][1] >= start:
            if end > forced[-1][1]:
                forced[-1] = (forced[-1][0], end)
            return
        forced.append((start, end))

    def extend(self, other: Sink) -> None:
        """Append all of *other*, which must start where this one ends or later."""
        for start, end, label in other._subs:
            self.add(start, end, label)
        for start, end in other._forced:
            self.force(start, end, delimiter=True)

    def subs(self) -> list[SubSpan]:
        """The sub-spans so far, in text order."""
        return list(map(SubSpan._make, self._subs))

    def forced(self, end: int) -> list[tuple[int, int]]:
        """The forced runs before *end*, in text order."""
        return [(start, min(stop, end)) for start, stop in self._forced if start < end]


def forced_choice(sink: Sink, start: int, chosen: str, options: Sequence[str]) -> bool:
    """Mark the characters of *chosen*, written at *start*, that the *options* leave no choice about.

    Character i is forced when every option that begins with chosen[:i] continues alike; the end of a word
    competes with a longer option. Returns whether the end of *chosen* is itself forced. An option set that
    lacks *chosen* forces nothing.
    """
    if not sink.schema_known or chosen not in options:
        return False
    runs, ended = _forced_runs(chosen, tuple(options))
    for first, last in runs:
        sink.force(start + first, start + last)
    return ended


@lru_cache(maxsize=4096)
def _forced_runs(chosen: str, options: tuple[str, ...]) -> tuple[tuple[tuple[int, int], ...], bool]:
    """The forced runs of *chosen*, relative to its start, and whether its end is forced."""
    live = list(options)
    runs: list[tuple[int, int]] = []
    run_start = 0
    for index, char in enumerate(chosen):
        nexts = {option[index] if index < len(option) else "" for option in live}
        if len(nexts) > 1:
            runs.append((run_start, index))
            run_start = index + 1
        live = [option for option in live if index < len(option) and option[index] == char]
    runs.append((run_start, len(chosen)))
    return tuple(runs), all(len(option) == len(chosen) for option in live)
