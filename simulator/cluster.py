"""Several replicas behind a router; optionally prefill on one pool and decode on another.

With two pools a request is prefilled on one replica, its KV is sent, and it joins the decode replica with all but its
last prompt token computed, as in vLLM's disaggregated serving: the decode replica computes that one and emits the
first token. Blocks that the decode replica has in its cache already are not sent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import simpy

from simulator.config import EngineConfig
from simulator.cost import CostModel
from simulator.engine import Replica, Request
from simulator.hosttier import HostTier
from simulator.kvcache import BlockTable
from simulator.lane import OutcomeSource
from simulator.outcomes import NO_ROUNDS, RoundSlice
from simulator.router import DEFAULT_ROUTER, Router, make_router


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterConfig:
    """Replicas and how they work together. Raises ValueError on values out of range."""

    num_replicas: int = 1
    router: str = DEFAULT_ROUTER
    num_prefill_replicas: int = 0
    """How many of the replicas only prefill; 0: every replica does both."""
    kv_transfer_s_per_token: float = 0.0
    """Time to send the KV of a token from a prefill replica to a decode replica."""
    host_blocks: int = 0
    """KV blocks that a replica keeps in host memory after their eviction; decode replicas keep none."""
    host_load_s_per_block: float = 0.0

    def __post_init__(self) -> None:
        if self.num_replicas < 1:
            raise ValueError(f"--replicas is {self.num_replicas}; it must be at least 1")
        if not 0 <= self.num_prefill_replicas < self.num_replicas:
            raise ValueError(
                f"--prefill-replicas is {self.num_prefill_replicas}; it must be at least 0 and below --replicas "
                f"({self.num_replicas}), which counts both pools"
            )
        for name in ("kv_transfer_s_per_token", "host_blocks", "host_load_s_per_block"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}; it must not be negative")


class _PrefillOnly:
    """Outputs that end with the token of the prefill."""

    def rounds(
        self,
        attempt: int,  # noqa: ARG002
        position: int,  # noqa: ARG002
        first_limit: int | None = None,  # noqa: ARG002
        limit: int | None = None,  # noqa: ARG002
    ) -> RoundSlice:
        return NO_ROUNDS


@dataclass(frozen=True, slots=True)
class ClusterParts:
    """What all replicas of a cluster are made of."""

    engine: EngineConfig
    cost: CostModel
    outcomes: OutcomeSource
    num_identities: int
    recall: Callable[[int], Request] | None = None
    """Makes a request again as it was submitted; None: every one that waits is held."""


class Cluster:
    """All replicas. *on_finish* is called with each request that is done; *session_of* has the session of each by id.

    `replicas` holds the prefill pool first, if there is one.
    """

    def __init__(
        self,
        env: simpy.Environment,
        config: ClusterConfig,
        parts: ClusterParts,
        session_of: Sequence[int],
        on_finish: Callable[[Request], None],
    ) -> None:
        self.env = env
        self.config = config
        self._parts = parts
        self._on_finish = on_finish
        split = config.num_prefill_replicas
        entry = _PrefillOnly() if split else parts.outcomes
        count = split or config.num_replicas
        done = self._prefilled if split else self._finished
        self.replicas = [self._replica(entry, done, config.host_blocks) for _ in range(count)]
        self.replicas += [self._replica(parts.outcomes, self._decoded, 0) for _ in range(config.num_replicas - count)]
        self._decoding = self.replicas[split:]
        self._entry_router = make_router(config.router, self.replicas[:count], session_of)
        self._decode_router: Router | None = make_router(config.router, self._decoding, session_of) if split else None
        if parts.recall is not None and getattr(self._entry_router, "forgets_requests", False):
            for index, replica in enumerate(self.replicas[:count]):
                replica.let_recall(partial(self._again, index))
        self._first: dict[int, Request] = {}

    def _replica(self, outcomes: OutcomeSource, done: Callable[[Request], None], host_blocks: int) -> Replica:
        parts = self._parts
        tier = None
        if host_blocks:
            tier = HostTier(host_blocks, parts.num_identities, self.config.host_load_s_per_block)
        return Replica(self.env, parts.engine, parts.cost, outcomes, parts.num_identities, done, tier)

    def _again(self, index: int, number: int) -> Request:
        """Request *number* as it was submitted to replica *index*."""
        assert self._parts.recall is not None
        request = self._parts.recall(number)
        request.replica = request.decode_replica = index
        return request

    def submit(self, request: Request) -> None:
        """Route *request* and hand it over at the current time."""
        request.replica = request.decode_replica = self._entry_router.choose(request)
        self.replicas[request.replica].submit(request)

    def close(self) -> None:
        """Let go of the replicas: the parts of a cluster refer to each other and would be freed late."""
        del self.replicas, self._decoding, self._entry_router, self._decode_router, self._on_finish

    def _finished(self, request: Request) -> None:
        self._entry_router.finished(request, request.replica)
        self._on_finish(request)

    def _prefilled(self, request: Request) -> None:
        """Send the KV of *request*, which has finished on its prefill replica, to a decode replica."""
        self._entry_router.finished(request, request.replica)
        if request.refused or self._decode_router is None:
            self._on_finish(request)
            return
        second = Request(request.id, request.prompt_tokens, request.path)
        second.received_tokens = max(0, request.prompt_tokens - 1)
        second.replica = self._decode_router.choose(second)
        replica = self._decoding[second.replica]
        held = replica.hit_tokens(BlockTable(request.path), request.prompt_tokens)
        request.kv_transfer_s = (request.prompt_tokens - held) * self.config.kv_transfer_s_per_token
        request.decode_replica = self.config.num_prefill_replicas + second.replica
        self._first[request.id] = request
        arrival = self.env.timeout(request.kv_transfer_s)
        arrival.callbacks.append(lambda _: replica.submit(second))

    def _decoded(self, second: Request) -> None:
        if self._decode_router is not None:
            self._decode_router.finished(second, second.replica)
        request = self._first.pop(second.id)
        request.first_token_s = second.first_token_s
        request.finish_s = second.finish_s
        request.prefill_gpu_s += second.prefill_gpu_s
        request.draft_prefill_gpu_s += second.draft_prefill_gpu_s
        request.kv_load_s += second.kv_load_s
        request.host_hit_tokens += second.host_hit_tokens
        request.num_preemptions += second.num_preemptions
        self._on_finish(request)
