"""The inverse question: how much load a number of GPUs takes as one candidate."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from scenarios.plan.bound import least_gpu_s
from scenarios.plan.candidates import Candidate
from scenarios.plan.document import CapacityRow, shortfall
from scenarios.plan.probe import Bench, Idle, Probe
from scenarios.plan.search import Largest, largest
from scenarios.plan.size import gpus_of, tried, usd_per_s
from scenarios.plan.span import span_for
from scenarios.plan.timeline import Timeline

_START = 0.5
"""Share of what the work alone would allow at which the search begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Available:
    """What there is to serve with, and what it must hold."""

    idle: Idle
    timeline: Timeline
    gpus: int
    headroom: float
    lose_one: bool
    max_requests: int


def available(idle: Idle, timeline: Timeline, limits: tuple[int, float, bool, int]) -> Available:
    """GPUs, headroom, whether a replica may be lost, and the limit on requests, beside an idle look."""
    gpus, headroom, lose_one, most = limits
    return Available(idle=idle, timeline=timeline, gpus=gpus, headroom=headroom, lose_one=lose_one, max_requests=most)


def capacity(bench: Bench, given: Available) -> CapacityRow:
    """The largest rate that the replicas which fit on the GPUs serve within all targets.

    With headroom it is what is left of the largest rate; with lose_one no more than one replica fewer serves.
    """
    platform = bench.candidate.question().platform
    per_replica = gpus_of(platform)
    replicas = given.gpus // per_replica
    usd_per_hour = usd_per_s(platform) * 3600 * replicas
    if replicas - given.lose_one < 1:
        need = per_replica * (1 + given.lose_one)
        return _row(bench, replicas, per_replica, usd_per_hour, f"needs {need} GPUs; {given.gpus} are available")
    full = _search(bench, given, replicas, least_gpu_s(given.idle, platform))
    rate = None if full.value is None else full.value / given.headroom
    decided, decided_by = full, "burst" if given.headroom > 1 else "rate"
    if given.lose_one and rate is not None:
        fewer = _search(bench, given, replicas - 1, least_gpu_s(given.idle, platform))
        if fewer.value is None or fewer.value < rate:
            rate, decided, decided_by = fewer.value, fewer, "lost replica"
    reason = "" if rate is not None else shortfall(decided.tried[min(decided.tried)])
    row = _row(bench, replicas, per_replica, usd_per_hour, reason)
    larger = [value for value in decided.tried if decided.value is not None and value > decided.value]
    return replace(
        row,
        tasks_per_s=rate,
        usd_per_1000_tasks=usd_per_hour / 3.6 / rate if rate else None,
        decided_by=decided_by,
        at_rate=decided.tried[decided.value] if decided.value is not None else None,
        next_rate=decided.tried[min(larger)] if larger else None,
        tried=[tried(decided.tried[value]) for value in sorted(decided.tried)],
        breaches=list(decided.breaches),
    )


def different(chosen: list[Candidate], given: Available) -> list[Candidate]:
    """Those of *chosen*, which differ by router only, that the GPUs make a difference to: one for a single replica."""
    platform = chosen[0].question().platform
    return chosen if given.gpus // gpus_of(platform) > 1 else chosen[:1]


def _search(bench: Bench, given: Available, replicas: int, least_s: float) -> Largest[Probe]:
    attempts = bench.traffic.tiles.attempts_per_task

    def probe(rate: float) -> Probe:
        span = span_for(given.timeline, bench.objectives, rate, attempts, given.max_requests)
        return bench.probe(replicas, rate, span, given.timeline)

    return largest(probe, lambda one: one.met, _START * replicas / least_s)


def _row(bench: Bench, replicas: int, per_replica: int, usd_per_hour: float, reason: str) -> CapacityRow:
    return CapacityRow(
        name=bench.candidate.name if replicas > 1 else bench.candidate.kind,
        replicas=replicas,
        gpus=replicas * per_replica,
        usd_per_hour=usd_per_hour,
        tasks_per_s=None,
        usd_per_1000_tasks=None,
        decided_by="",
        reason=reason,
        at_rate=None,
        next_rate=None,
        tried=[],
        breaches=[],
    )
