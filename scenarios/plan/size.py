"""Sizes one candidate: how many replicas a rate takes with a burst on top and a replica lost, and why not fewer."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from msgspec import structs

from scenarios.options.replay import OptionError
from scenarios.plan.bound import least_replicas, likely_replicas
from scenarios.plan.candidates import Candidate
from scenarios.plan.document import ANY, Row, Sized, Tried, shortfall
from scenarios.plan.probe import Bench, Idle, Probe
from scenarios.plan.search import Breach, Fewest, fewest
from scenarios.plan.span import Span
from scenarios.plan.targets import GOODPUT
from scenarios.plan.timeline import Timeline
from scenarios.resolve.platform import Platform
from simulator.config import EngineConfig

_NUDGE = 0.5
"""Taken from the guess of replicas that meet everything, so that it lies where failing is about as likely."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What a plan must hold."""

    tasks_per_s: float
    span: Span
    timeline: Timeline
    """What is over of tasks that came before the replay."""
    headroom: float
    lose_one: bool
    max_gpus: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rival:
    """What a candidate must beat to matter: the least money and the fewest GPUs of others that serve."""

    least_usd: tuple[float, int]
    """USD per hour, and the GPUs of that candidate."""
    fewest_gpus: tuple[int, float]
    ties: bool
    """Whether it also matters where it is as good."""

    def most(self, usd_per_hour: float, gpus: int) -> int:
        """The most replicas at such a price and size that matter."""
        count = 0
        while self._matters((count + 1) * usd_per_hour, (count + 1) * gpus):
            count += 1
        return count

    def _matters(self, usd: float, gpus: int) -> bool:
        sides = (((usd, gpus), self.least_usd), ((gpus, usd), self.fewest_gpus))
        return any(own < best or (self.ties and own == best) for own, best in sides)


@dataclass(slots=True)
class _Search:
    """The replays of one candidate at one demand; each is made once."""

    bench: Bench
    idle: Idle
    demand: Demand
    tried: list[Tried]
    breaches: list[Breach]
    single: dict[float, Probe]
    """Those of a single replica by rate, which are the same for any router."""

    def probe(self, replicas: int, rate: float) -> Probe:
        found = self.single.get(rate) if replicas == 1 else None
        if found is None:
            found = self.bench.probe(replicas, rate, self.demand.span, self.demand.timeline)
        if replicas == 1:
            self.single[rate] = found
        return found

    def at(self, rate: float, start: int, most: int) -> Fewest[Probe]:
        found = fewest(
            lambda n: self.probe(n, rate),
            lambda one: one.met,
            start,
            most,
            lambda one: needed(one, self.idle),
        )
        self.tried += [tried(found.tried[n]) for n in sorted(found.tried)]
        self.breaches += found.breaches
        return found


def needed(probe: Probe, idle: Idle) -> float:
    """Replicas that *probe* suggests: what a target has beyond its *idle* value shrinks with the load of a replica."""
    shares = [
        (float("inf") if one.value is None else one.value - alone.value) / (one.limit - alone.value)
        for one, alone in zip(probe.targets, idle.targets, strict=True)
        if one.name != GOODPUT and alone.value is not None and one.limit > alone.value
    ]
    share = max(shares, default=1.0)
    kept_up = share if probe.falls_behind is None else max(share, 1.0 + probe.falls_behind)
    return probe.replicas * kept_up - _NUDGE * (kept_up < 1)


def tried(probe: Probe) -> Tried:
    """A replay in short."""
    return Tried(replicas=probe.replicas, tasks_per_s=probe.tasks_per_s, met=probe.met, worst=shortfall(probe))


def first_look(bench: Bench, _: None) -> tuple[Idle | None, Timeline | None, str]:
    """The candidate on an idle replica; and why it cannot serve at any size, if so."""
    try:
        idle, timeline = bench.idle()
    except (OptionError, ValueError) as error:
        return None, None, str(error)
    short = shortfall(idle)
    return idle, timeline, f"idle replica: {short}" if short else ""


def size_kind(bench: Bench, argument: tuple[Idle, Demand, list[Candidate], Rival | None, bool]) -> list[Row]:
    """The rows of candidates that differ by router only; one row where a single replica serves.

    The last two of *argument*: what they must beat, if anything, and whether a router must be sized that needs as many
    replicas as one before it, or more.
    """
    idle, demand, chosen, rival, every = argument
    single: dict[float, Probe] = {}
    rows: list[Row] = []
    for one in chosen:
        near = [found.sized.replicas for found in rows if found.sized is not None]
        limits = [] if rival is None else [_most(bench, rival)]
        limits += [count - 1 for count in near] if not every else []
        start = min(near) - demand.lose_one if near else None
        limit = min(limits, default=None)
        found = _size(replace(bench, candidate=one), idle, demand, single, (start, limit))
        if found.sized is not None and found.sized.replicas == 1:
            return [structs.replace(found, name=one.kind, router=ANY)]
        if not rows and found.looked_at is not None and (found.looked_at <= 1 or not found.tried):
            return [structs.replace(found, name=one.kind, router=ANY)]
        rows.append(found)
    return rows


def _most(bench: Bench, rival: Rival) -> int:
    return rival.most(*_a_replica(bench.candidate.question().platform))


def _a_replica(platform: Platform) -> tuple[float, int]:
    """USD per hour and GPUs of one replica."""
    return usd_per_s(platform) * 3600, gpus_of(platform)


def likely_cost(bench: Bench, argument: tuple[Idle, Demand]) -> tuple[float, int]:
    """USD per hour and GPUs that a candidate may come to; nothing is replayed."""
    idle, demand = argument
    platform = bench.candidate.question().platform
    replicas = likely_replicas(idle, platform, demand.tasks_per_s * demand.headroom) + demand.lose_one
    usd_per_hour, gpus = _a_replica(platform)
    return usd_per_hour * replicas, gpus * replicas


def _size(
    bench: Bench, idle: Idle, demand: Demand, single: dict[float, Probe], bounds: tuple[int | None, int | None]
) -> Row:
    """The row of a candidate that an idle replica does not rule out.

    *bounds* has where to start, if another router tells, and the most replicas that matter.
    """
    near, limit = bounds
    platform = bench.candidate.question().platform
    per_replica = gpus_of(platform)
    allowed = demand.max_gpus // per_replica
    most = allowed if limit is None else min(allowed, limit)
    least = least_replicas(idle, platform, demand.tasks_per_s)
    search = _Search(bench, idle, demand, [], [], single)
    sized, reason = None, ""
    if allowed < least:
        reason = f"needs {least * per_replica} GPUs or more for the work alone; --max-gpus is {demand.max_gpus}"
    elif most < least:
        reason = f"at least {_replicas(least, platform)} for the work alone"
    elif most < 1 + demand.lose_one:
        reason = f"at least {_replicas(1 + demand.lose_one, platform)}"
    else:
        start = min(most, near or likely_replicas(idle, platform, demand.tasks_per_s))
        sized, reason = _sized(search, platform, max(1, start), most)
    return row(
        bench.candidate,
        bench.candidate.name,
        idle=idle,
        reason=reason,
        sized=sized,
        search=search,
        start=least,
        gpus_per_replica=per_replica,
        looked_at=most if most < allowed and sized is None else None,
    )


def _sized(search: _Search, platform: Platform, start: int, most: int) -> tuple[Sized | None, str]:
    demand = search.demand
    rate, burst = demand.tasks_per_s, demand.tasks_per_s * demand.headroom
    base = search.at(rate, start, most)
    if base.count is None:
        return None, _too_few(base, platform, most)
    needs = {"rate": base.count + demand.lose_one}
    grown = None
    if demand.headroom > 1:
        grown = search.at(burst, min(most, math.ceil(base.count * demand.headroom)), most)
        if grown.count is None:
            return None, "burst: " + _too_few(grown, platform, most)
        needs["burst"] = grown.count
    replicas = max(needs.values())
    if replicas > most:
        return None, f"a spare replica would need {_replicas(replicas, platform)}"
    by_burst = grown is not None and grown.count == replicas
    fewer = grown.tried if by_burst and grown is not None else base.tried
    decided = "burst" if by_burst else "lost replica" if demand.lose_one else "rate"
    known = dict(base.tried)
    usd_per_hour = usd_per_s(platform) * 3600 * replicas

    def at(number: int) -> Probe:
        if number not in known:
            known[number] = search.probe(number, rate)
        return known[number]

    found = Sized(
        replicas=replicas,
        gpus=replicas * gpus_of(platform),
        usd_per_hour=usd_per_hour,
        usd_per_1000_tasks=usd_per_hour / 3.6 / rate,
        at_rate=at(replicas),
        at_burst=_burst_probe(search, grown, replicas, burst),
        one_lost=at(replicas - 1) if demand.lose_one and replicas > 1 else None,
        decided_by=decided,
        one_fewer=fewer.get(replicas - 1 - (decided == "lost replica")),
    )
    return found, ""


def _burst_probe(search: _Search, grown: Fewest[Probe] | None, replicas: int, burst: float) -> Probe | None:
    if grown is None:
        return None
    known = grown.tried.get(replicas)
    return search.probe(replicas, burst) if known is None else known


def _too_few(found: Fewest[Probe], platform: Platform, most: int) -> str:
    return f"{_replicas(most, platform)}: {shortfall(found.tried[most])}"


def _replicas(count: int, platform: Platform) -> str:
    """A number of replicas with what they cost."""
    usd_per_hour, gpus = (count * one for one in _a_replica(platform))
    return f"{gpus} GPU{'s' if gpus > 1 else ''} ({usd_per_hour:.3g} $/h)"


def row(
    one: Candidate,
    name: str,
    *,
    router: str | None = None,
    idle: Idle | None = None,
    reason: str = "",
    sized: Sized | None = None,
    search: _Search | None = None,
    start: int = 0,
    gpus_per_replica: int = 0,
    looked_at: int | None = None,
) -> Row:
    """A row of the table; *router* where it is not the candidate's."""
    return Row(
        name=name,
        gpu=one.gpu,
        tensor_parallel_size=one.tensor_parallel_size,
        gamma=one.gamma,
        kv_offload_gb=one.kv_offload_gb,
        router=router or one.router,
        gpus_per_replica=gpus_per_replica,
        reason=reason,
        looked_at=looked_at,
        sized=sized,
        idle=idle,
        least_replicas=start,
        tried=search.tried if search is not None else [],
        breaches=search.breaches if search is not None else [],
    )


def speculates(engine: EngineConfig) -> bool:
    """Whether drafts are made at all."""
    return engine.num_speculative_tokens > 0


def gpus_of(platform: Platform) -> int:
    """GPUs of a replica, a drafter's own one included where it drafts."""
    return platform.n_gpus if speculates(platform.engine) else platform.baseline_n_gpus


def usd_per_s(platform: Platform) -> float:
    """Price of them per second."""
    return platform.gpu_usd_per_s if speculates(platform.engine) else platform.baseline_gpu_usd_per_s
