"""Which request of an agentic Mooncake trace follows which, told from the names that the rows wait for.

The rows themselves are not looked at, as there may be many: a request is its place among the rows, a name its digest.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from traces.digests import digest, numbered, pairs
from traces.readers.agentic_rows import AgenticRow, Wait

Places = NDArray[np.int64]
Flags = NDArray[np.bool_]

_IGNORED, _FOLLOWED, _OUTSIDE, _SPAWNER = range(4)
"""What a wait is to its request: not looked at; for the request that it follows; for one of another session; among
these of the first request of a chain, the one that spawned it."""
_AT_START, _SPAWNED = 1, 2


@dataclass(slots=True)
class Links:
    """Names, sessions and waits of the rows so far."""

    names: bytearray = field(default_factory=bytearray)
    sessions: bytearray = field(default_factory=bytearray)
    waits: bytearray = field(default_factory=bytearray)
    marks: bytearray = field(default_factory=bytearray)
    """Of each wait, _AT_START and _SPAWNED where they hold."""
    counts: array[int] = field(default_factory=lambda: array("i"))
    """Of each row, the number of its waits."""

    def add(self, rows: list[AgenticRow]) -> None:
        """Note those of the next rows; some at a time take less time than one by one."""
        self.names += b"".join([digest(row.request_id.encode()) for row in rows])
        self.sessions += b"".join([digest(row.session_id.encode()) for row in rows])
        self.counts.extend([len(row.waits) for row in rows])
        waits = [wait for row in rows if row.waits for wait in row.waits]
        self.waits += b"".join([digest(wait.request_id.encode()) for wait in waits])
        self.marks += bytes([wait.at_start * _AT_START | wait.spawned * _SPAWNED for wait in waits])


@dataclass(frozen=True, slots=True)
class Graph:
    """Chains of requests, numbered in the order of their first rows; a row is known by its place among all."""

    homes: Places
    """Of each row, its chain; of rows that are in none, the number of chains."""
    spawners: Places
    """Of each chain, the one that it was started from, or -1."""
    begins: Places
    """Of each row, its first wait among the waits of all; and how many these are."""
    kinds: NDArray[np.uint8]
    """Of each wait, what it is to its row."""
    doubled: Flags
    """Whether a request of the row's name was there before."""
    unfit: Flags
    """Whether the row is left out because it does not fit, and for nothing else."""
    astray: Places
    """Rows that wait for missing or later ones."""
    released: Places
    """Rows that wait for the start of the one that they follow."""
    joined: Places
    """Rows that follow one and wait for other sessions besides, once for each such wait."""

    def followed(self, place: int, waits: tuple[Wait, ...]) -> tuple[Wait, list[Wait]]:
        """Of the *waits* of a row that follows another: that for this one, and those for other sessions."""
        if not waits[1:]:
            return waits[0], []
        kinds = self._kinds(place)
        outside = [wait for wait, kind in zip(waits, kinds, strict=True) if kind == _OUTSIDE]
        return waits[kinds.index(_FOLLOWED)], outside

    def spawner(self, place: int, waits: tuple[Wait, ...]) -> Wait | None:
        """Of the *waits* of the first row of a chain, that for the request that spawned it."""
        if not waits:
            return None
        kinds = self._kinds(place)
        return waits[kinds.index(_SPAWNER)] if _SPAWNER in kinds else None

    def _kinds(self, place: int) -> list[int]:
        found: list[int] = self.kinds[self.begins[place] : self.begins[place + 1]].tolist()
        return found


def graph(links: Links, fits: Flags) -> Graph:
    """The chains of the rows of *links*, which are used up; rows that do not *fit* are in none."""
    places = np.arange(len(fits))
    begins = np.zeros(len(fits) + 1, np.int64)
    np.cumsum(links.counts, out=begins[1:])
    waiters = np.repeat(places, np.diff(begins))
    named, targets = _resolved(links, fits)
    doubled, placed = named < places, named == places
    del named
    known = targets < waiters
    lost = waiters[~known]
    known &= placed[waiters]
    inside = _of_own_session(links, waiters, targets, known)
    parents = np.full(len(fits), -1)
    np.maximum.at(parents, waiters[inside], targets[inside])
    followed = np.flatnonzero(inside & (targets == parents[waiters]))
    followed = followed[_firsts(waiters[followed])]
    outside = np.flatnonzero(known & ~inside)
    joins = parents[waiters[outside]] >= 0
    marks = np.frombuffer(links.marks, np.uint8)
    spawning = _spawners(outside[~joins], waiters, marks)
    kinds = np.zeros(len(waiters), np.uint8)
    kinds[followed], kinds[outside], kinds[spawning] = _FOLLOWED, _OUTSIDE, _SPAWNER
    starts = placed & (parents < 0)
    homes = _homes(parents, starts, placed)
    spawners = np.full(int(starts.sum()), -1)
    spawners[homes[waiters[spawning]]] = homes[targets[spawning]]
    return Graph(
        homes,
        spawners,
        begins,
        kinds,
        doubled,
        ~fits & ~doubled,
        astray=np.unique(lost[~doubled[lost]]),
        released=waiters[followed[(marks[followed] & _AT_START) > 0]],
        joined=waiters[outside[joins]],
    )


def _resolved(links: Links, fits: Flags) -> tuple[Places, Places]:
    """Of each row, and of each wait, the first row of that name that *fits*; the number of rows where there is none."""
    n = len(fits)
    links.names += links.waits
    links.waits = bytearray()
    numbers = numbered(pairs(links.names))
    links.names = bytearray()
    first = np.full(len(numbers), n)
    fitting = np.flatnonzero(fits)
    np.minimum.at(first, numbers[fitting], fitting)
    return first[numbers[:n]], first[numbers[n:]]


def _of_own_session(links: Links, waiters: Places, targets: Places, known: Flags) -> Flags:
    """Whether a wait is for a request of its own session, of those that are *known*."""
    sessions = pairs(links.sessions)
    inside = known.copy()
    for half in sessions.T:
        inside[known] &= half[waiters[known]] == half[targets[known]]
    return inside


def _firsts(sorted_places: Places) -> Flags:
    """Whether each is the first of its value."""
    found = np.ones(len(sorted_places), np.bool_)
    np.not_equal(sorted_places[1:], sorted_places[:-1], out=found[1:])
    return found


def _spawners(waits: Places, waiters: Places, marks: NDArray[np.uint8]) -> Places:
    """Of *waits* for other sessions, one a waiter: the first that says that it spawned it, else the last."""
    spawned = waits[(marks[waits] & _SPAWNED) > 0]
    told = spawned[_firsts(waiters[spawned])]
    last = waits[_firsts(waiters[waits][::-1])[::-1]]
    return np.concatenate((told, last[~np.isin(waiters[last], waiters[told])]))


def _homes(parents: Places, starts: Flags, placed: Flags) -> Places:
    """Of each row, the number of its chain, a number more where it is not *placed*."""
    roots = np.where(parents < 0, np.arange(len(parents)), parents)
    while True:
        further = roots[roots]
        if np.array_equal(further, roots):
            break
        roots = further
    homes = (np.cumsum(starts) - 1)[roots]
    homes[~placed] = int(starts.sum())
    return homes
