"""Requests to replicas in turn."""

from __future__ import annotations

from collections.abc import Sequence

from simulator.engine import Request
from simulator.router import Router, Target


class RoundRobin:
    """Each request to the next replica."""

    forgets_requests = True

    def __init__(self, count: int) -> None:
        self._count = count
        self._next = 0

    def choose(self, request: Request) -> int:  # noqa: ARG002
        """The next replica."""
        index, self._next = self._next, (self._next + 1) % self._count
        return index

    def finished(self, request: Request, index: int) -> None:
        """Nothing to keep."""


def make(replicas: Sequence[Target], session_of: Sequence[int]) -> Router:  # noqa: ARG001
    """Replicas in turn."""
    return RoundRobin(len(replicas))
