"""The result of a plan as a document."""

from __future__ import annotations

from typing import Any

import msgspec

from scenarios.plan.probe import Idle, Probe
from scenarios.plan.search import Breach
from scenarios.plan.span import Span
from scenarios.plan.targets import GOODPUT, TargetResult

SCHEMA_VERSION = 3
ANY = "any"
"""Router of a single replica."""


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """One replay of a search."""

    replicas: int
    tasks_per_s: float
    met: bool
    worst: str
    """The target missed by most, or how far the replicas fall behind; empty if all is met."""


class Sized(msgspec.Struct, frozen=True, kw_only=True):
    """How many replicas of a candidate a rate takes."""

    replicas: int
    gpus: int
    usd_per_hour: float
    usd_per_1000_tasks: float
    at_rate: Probe
    """At the asked rate, with all replicas."""
    at_burst: Probe | None
    """At rate times headroom."""
    one_lost: Probe | None
    """At the asked rate, with a replica fewer."""
    decided_by: str
    """``rate``, ``burst`` or ``lost replica``: what asked for the most."""
    one_fewer: Probe | None
    """The next smaller number, which fails what decided; None for a single replica."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One candidate."""

    name: str
    gpu: str
    tensor_parallel_size: int
    gamma: str
    kv_offload_gb: float
    router: str
    """``any`` where it makes no difference: of a single replica, or of none that is replayed."""
    gpus_per_replica: int
    """0 where it cannot be asked."""
    reason: str
    """Why it serves at no size, or at none up to *looked_at*; empty if it does."""
    looked_at: int | None = None
    """Replicas up to which it was looked at, because more would cost more than a candidate that serves, and be no fewer
    GPUs; None: as many as allowed."""
    sized: Sized | None
    idle: Idle | None
    least_replicas: int
    """What the work alone asks for, in full steps."""
    tried: list[Tried]
    breaches: list[Breach]
    """Where more replicas failed although fewer passed."""


class Growth(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate at the grown rate."""

    name: str
    reason: str
    sized: Sized | None


class CapacityRow(msgspec.Struct, frozen=True, kw_only=True):
    """How much load the available GPUs take as one candidate."""

    name: str
    replicas: int
    gpus: int
    usd_per_hour: float
    tasks_per_s: float | None
    """None: not even the least rate tried."""
    usd_per_1000_tasks: float | None
    decided_by: str
    """What limits it: ``rate``, ``burst`` or ``lost replica``."""
    reason: str
    at_rate: Probe | None
    """At the largest rate that what decides it takes: in burst, tasks_per_s times headroom."""
    next_rate: Probe | None
    """The next larger rate tried there, which fails."""
    tried: list[Tried]
    breaches: list[Breach]


class TrafficInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What was offered."""

    trace_sha256: str
    recorded_tasks: int
    """Sessions that users start; sub-agents come with them."""
    recorded_requests: int
    tasks_per_s: float | None
    """None: it is what was asked for."""
    requests_per_s: float | None
    span: Span | None
    """None: differs by candidate."""
    tasks: int
    """In a replay at the asked rate."""
    requests: int
    drawn_tasks: int
    """Recorded tasks that are repeated: all, unless they have more requests than a replay may."""
    copies: float
    """Times that they are repeated in it, those under way at its start included."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The whole answer; nothing in it depends on the clock, the machine or a path."""

    schema_version: int
    tool: str
    version: str
    modelled_engine: str
    seed: int
    traffic: TrafficInfo
    targets: list[str]
    headroom: float
    lose_one: bool
    growth_factor: float | None
    gpus_limit: int
    """The most GPUs of a plan, or those available."""
    rows: list[Row]
    """By cost, those that serve at no size last."""
    cheapest: int | None
    """Row; None if no candidate meets the targets."""
    fewest_gpus: int | None
    growth: list[Growth]
    capacity: list[CapacityRow]
    assumptions: dict[str, int]
    notes: list[str]
    warnings: list[str]

    @property
    def feasible(self) -> bool:
        """Whether any candidate meets the targets."""
        return self.cheapest is not None or any(row.tasks_per_s is not None for row in self.capacity)


def shortfall(probe: Probe | Idle) -> str:
    """What a replay misses by most, with value and limit; empty if it meets all."""
    behind = probe.falls_behind if isinstance(probe, Probe) else None
    worst = probe.failing
    if worst is None:
        return "" if behind is None else f"falls behind: the queue grows by {behind:.0%} of the arrivals"
    return missed(worst)


def missed(result: TargetResult) -> str:
    """A missed target with value and limit, as text."""
    if result.value is None:
        return f"{result.name}: requests refused, longer than the KV cache or --max-model-len"
    if result.name == GOODPUT:
        return f"goodput {result.value:.4f} < {result.limit:g}"
    return f"{result.name} {result.value:,.0f} > {result.limit:,g} ms (+{result.over:.0%})"


def schema() -> dict[str, Any]:
    """JSON Schema of the result document."""
    return msgspec.json.schema(Plan)
