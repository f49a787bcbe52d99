"""A session stays where its first request went, which was the least loaded replica."""

from __future__ import annotations

from collections.abc import Sequence

from simulator.engine import Request
from simulator.router import Router, Target
from simulator.routers.least_loaded import LeastLoaded


class SessionAffinity:
    """All requests of a session to one replica, the least loaded one at its start.

    *session_of* has the session of each request by id.
    """

    forgets_requests = True

    def __init__(self, replicas: Sequence[Target], session_of: Sequence[int]) -> None:
        self._least_loaded = LeastLoaded(replicas)
        self._session_of = session_of
        self._homes: dict[int, int] = {}

    def choose(self, request: Request) -> int:
        """The session's replica."""
        session = self._session_of[request.id]
        home = self._homes.get(session)
        if home is None:
            home = self._homes[session] = self._least_loaded.choose(request)
        return home

    def finished(self, request: Request, index: int) -> None:
        """Nothing to keep."""


def make(replicas: Sequence[Target], session_of: Sequence[int]) -> Router:
    """By session."""
    return SessionAffinity(replicas, session_of)
