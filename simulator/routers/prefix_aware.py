"""Requests to the replica where they are the least work, for what its cache has of their prompts."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from simulator.engine import Request
from simulator.kvcache import BlockTable
from simulator.router import Router, Target


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


def make(replicas: Sequence[Target], session_of: Sequence[int]) -> Router:  # noqa: ARG001
    """By queued, cached and held tokens of each replica."""
    return PrefixAware(replicas)
