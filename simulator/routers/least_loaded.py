"""Requests to the replica with the smallest 4 x waiting + running."""

from __future__ import annotations

from collections.abc import Sequence

from simulator.engine import Request
from simulator.router import Router, Target

WAITING_WEIGHT = 4
"""A waiting request counts as much as four running ones, as in vLLM's data-parallel load balancer."""


class LeastLoaded:
    """Each request to the replica with the smallest score of waiting and running requests."""

    forgets_requests = True

    def __init__(self, replicas: Sequence[Target]) -> None:
        self._replicas = replicas

    def choose(self, request: Request) -> int:  # noqa: ARG002
        """The least loaded replica."""
        scores = [WAITING_WEIGHT * replica.num_waiting + replica.num_running for replica in self._replicas]
        return scores.index(min(scores))

    def finished(self, request: Request, index: int) -> None:
        """Nothing to keep."""


def make(replicas: Sequence[Target], session_of: Sequence[int]) -> Router:  # noqa: ARG001
    """By the load of each replica."""
    return LeastLoaded(replicas)
