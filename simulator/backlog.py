"""The queue of a replica: sequences in order, those far back as numbers until their turn comes."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.scheduler import Sequence

OBJECTS = 256
"""Sequences that are held as objects before others are written down; a queue is seldom longer."""


class Backlog:
    """Waiting sequences, first in first out, but for those put back in front.

    *recall* makes a sequence again from its request's id and arrival time (seconds).
    """

    def __init__(self, recall: Callable[[int, float], Sequence] | None = None) -> None:
        self.recall = recall
        self._front: deque[Sequence] = deque()
        self._ids: deque[array[int]] = deque()
        """Of the sequences behind those, in blocks."""
        self._arrivals_s: deque[array[float]] = deque()
        self._written = 0
        self.size = 0
        """Sequences that wait, in all; an attribute, since it is asked for far more often than it changes."""

    def __len__(self) -> int:
        return self.size

    @property
    def writes_down(self) -> bool:
        """Whether the next sequence must be given to `write_down`."""
        return self._written > 0 or (self.recall is not None and len(self._front) >= OBJECTS)

    def write_down(self, request: int, arrival_s: float) -> None:
        """Queue the sequence of *request* as numbers."""
        if not self._ids or len(self._ids[-1]) >= OBJECTS:
            self._ids.append(array("q"))
            self._arrivals_s.append(array("d"))
        self._ids[-1].append(request)
        self._arrivals_s[-1].append(arrival_s)
        self._written += 1
        self.size += 1

    def append(self, sequence: Sequence) -> None:
        """Queue *sequence*. Raises RuntimeError if it must be written down."""
        if self._written:
            raise RuntimeError("sequences before this one are written down")
        self._front.append(sequence)
        self.size += 1

    def appendleft(self, sequence: Sequence) -> None:
        """Put *sequence* before all others."""
        self._front.appendleft(sequence)
        self.size += 1

    def head(self) -> Sequence:
        """The first sequence; there must be one."""
        if not self._front:
            self._recall_block()
        return self._front[0]

    def popleft(self) -> Sequence:
        """Take the first sequence; there must be one."""
        self.head()
        self.size -= 1
        return self._front.popleft()

    def _recall_block(self) -> None:
        """Make the sequences of the first block again."""
        if self.recall is None or not self._ids:
            raise IndexError("nothing waits")
        requests = self._ids.popleft()
        self._written -= len(requests)
        self._front.extend(map(self.recall, requests, self._arrivals_s.popleft()))
