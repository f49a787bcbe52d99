"""Which replica serves a request: routers see queues, cached prefixes and prompt lengths, never outputs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Protocol

from simulator.engine import Request
from simulator.kvcache import BlockTable

WAITING_WEIGHT = 4
"""A waiting request counts as much as four running ones, as in vLLM's data-parallel load balancer."""


class RouterPolicy(StrEnum):
    """How requests are spread over replicas."""

    ROUND_ROBIN = "round-robin"
    LEAST_LOADED = "least-loaded"
    """The smallest 4 x waiting + running."""
    SESSION_AFFINITY = "session-affinity"
    """A session stays where its first request went, which was the least loaded replica."""
    PREFIX_AWARE = "prefix-aware"
    """The least work: see PrefixAware."""


class Target(Protocol):
    """A replica as a router sees it."""

    @property
    def num_waiting(self) -> int:
        """Requests that are queued."""
        ...

    @property
    def num_running(self) -> int:
        """Requests that are in prefill or decoding."""
        ...

    def hit_tokens(self, table: BlockTable, prompt_tokens: int) -> int:
        """Prompt tokens that *table* would find in the cache if it were admitted now."""
        ...


class Router(Protocol):
    """Picks replicas by index; ties go to the lowest."""

    def choose(self, request: Request) -> int:
        """The replica for *request*, which the caller then submits there."""
        ...

    def finished(self, request: Request, index: int) -> None:
        """*request* is done, or was refused, on replica *index*."""
        ...


class RoundRobin:
    """Each request to the next replica."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._next = 0

    def choose(self, request: Request) -> int:  # noqa: ARG002
        """The next replica."""
        index, self._next = self._next, (self._next + 1) % self._count
        return index

    def finished(self, request: Request, index: int) -> None:
        """Nothing to keep."""


class LeastLoaded:
    """Each request to the replica with the smallest score of waiting and running requests."""

    def __init__(self, replicas: Sequence[Target]) -> None:
        self._replicas = replicas

    def choose(self, request: Request) -> int:  # noqa: ARG002
        """The least loaded replica."""
        scores = [WAITING_WEIGHT * replica.num_waiting + replica.num_running for replica in self._replicas]
        return scores.index(min(scores))

    def finished(self, request: Request, index: int) -> None:
        """Nothing to keep."""


class SessionAffinity:
    """All requests of a session to one replica, the least loaded one at its start.

    *session_of* has the session of each request by id.
    """

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


class _Book:
    """What a router sent to one replica: tokens to prefill that are not yet, and prompt tokens not yet finished."""

    def __init__(self) -> None:
        self.held_tokens = 0
        self._queue: deque[tuple[Request, int]] = deque()
        self._queued_tokens = 0

    def add(self, request: Request, fresh_tokens: int) -> None:
        self.held_tokens += request.prompt_tokens
        self._queued_tokens += fresh_tokens
        self._queue.append((request, fresh_tokens))

    def remove(self, request: Request) -> None:
        self.held_tokens -= request.prompt_tokens
        if request.refused:  # at once, so it was the last to come
            self._queued_tokens -= self._queue.pop()[1]

    def queued_tokens(self) -> int:
        """Tokens sent there whose requests have no first token yet; the oldest come first."""
        queue = self._queue
        while queue and queue[0][0].first_token_s is not None:
            self._queued_tokens -= queue.popleft()[1]
        return self._queued_tokens


class PrefixAware:
    """Each request to the replica where it costs least.

    Formula, in tokens: those queued for prefill there, plus the prompt less what the cache has of it, plus the
    prompts of all requests there that are not finished. The last term stands for the load of decoding; the weights
    are those of NVIDIA Dynamo's KV router by default (blocks to prefill + blocks in use).
    """

    def __init__(self, replicas: Sequence[Target]) -> None:
        self._replicas = replicas
        self._books = [_Book() for _ in replicas]

    def choose(self, request: Request) -> int:
        """The replica with the least work."""
        table = BlockTable(request.path)
        prompt = request.prompt_tokens
        best, least, fresh_there = 0, float("inf"), prompt
        for index, (replica, book) in enumerate(zip(self._replicas, self._books, strict=True)):
            load = book.queued_tokens() + book.held_tokens
            if load >= least:  # not even with the whole prompt in the cache
                continue
            fresh = prompt - replica.hit_tokens(table, prompt)
            if load + fresh < least:
                best, least, fresh_there = index, load + fresh, fresh
        self._books[best].add(request, fresh_there)
        return best

    def finished(self, request: Request, index: int) -> None:
        """Take *request* off the books of its replica."""
        self._books[index].remove(request)


def make_router(policy: RouterPolicy, replicas: Sequence[Target], session_of: Sequence[int]) -> Router:
    """A router over *replicas*; *session_of* has the session of each request by id."""
    if len(replicas) == 1:
        return RoundRobin(1)
    makers: dict[RouterPolicy, Callable[[], Router]] = {
        RouterPolicy.ROUND_ROBIN: lambda: RoundRobin(len(replicas)),
        RouterPolicy.LEAST_LOADED: lambda: LeastLoaded(replicas),
        RouterPolicy.SESSION_AFFINITY: lambda: SessionAffinity(replicas, session_of),
        RouterPolicy.PREFIX_AWARE: lambda: PrefixAware(replicas),
    }
    return makers[policy]()
