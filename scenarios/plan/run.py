"""A plan from start to end: candidates on an idle replica, how long to replay, sizes, the best, and growth."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from scenarios.options.replay import OptionError
from scenarios.plan.candidates import Candidate, candidates, kinds
from scenarios.plan.capacity import available, capacity, different
from scenarios.plan.document import ANY, CapacityRow, Growth, Plan, Row
from scenarios.plan.probe import Bench, Idle
from scenarios.plan.size import Demand, Rival, first_look, likely_cost, row, size_kind
from scenarios.plan.span import span_for
from scenarios.plan.summary import document, usd
from scenarios.plan.timeline import Timeline
from scenarios.plan.wanted import Wanted, rate_of
from scenarios.plan.workers import Shop, Task, workers
from scenarios.recordings.loaded import Loaded, load
from scenarios.recordings.recording import Progress

GROWN = 3
"""Candidates, cheapest first, that are sized again at the grown rate."""


Kind = tuple[list[Candidate], Idle]
"""Candidates that differ by router, and what they do alone."""
Run = Callable[[Callable[[Bench, Any], Any], Sequence[Task]], list[Any]]


def plan(
    paths: Sequence[str],
    given: Mapping[str, Any],
    axes: Mapping[str, str],
    wanted: Wanted,
    *,
    progress: Progress | None = None,
    done: Callable[[int], None] | None = None,
) -> Plan:
    """The plan for the traffic of the recordings at *paths* over all combinations of *axes*, options else as *given*.

    Raises OptionError for options out of range, TraceError or SimtoolError for recordings that cannot be used.
    """
    chosen = candidates(given, axes)
    loaded, fitting, unfit = _loaded(paths, chosen, progress)
    jobs = min(wanted.jobs or len(os.sched_getaffinity(0)), max(1, len(fitting)))
    shop = Shop(loaded, wanted.objectives, wanted.max_requests)
    with workers(shop, jobs, done) as run:
        return _planned(shop, (fitting, unfit), wanted, run)


def _loaded(
    paths: Sequence[str], chosen: Sequence[Candidate], progress: Progress | None
) -> tuple[Loaded, list[Candidate], list[tuple[Candidate, str]]]:
    """The recording, read for all candidates at once; those that fit, and why others do not."""
    fitting, unfit, readings = [], [], []
    for one in chosen:
        try:
            asked = one.question()
        except OptionError as error:
            unfit.append((one, str(error)))
            continue
        fitting.append(one)
        readings.append(asked.reading)
    if not fitting:
        raise OptionError("no candidate can be asked: " + "; ".join(f"{one.name}: {why}" for one, why in unfit))
    reading = replace(
        readings[0],
        every_prompt_twice=any(one.every_prompt_twice for one in readings),
        keep_ids=any(one.keep_ids for one in readings),
        keep_forced=any(one.keep_forced for one in readings),
    )
    return load(paths, reading, progress=progress), fitting, unfit


def _planned(shop: Shop, chosen: tuple[list[Candidate], list[tuple[Candidate, str]]], wanted: Wanted, run: Run) -> Plan:
    fitting, unfit = chosen
    traffic = shop.bench(fitting[0]).traffic
    groups = kinds(fitting)
    looks: list[tuple[Idle | None, Timeline | None, str]] = run(first_look, [(group[0], None) for group in groups])
    rows: list[Row] = []
    serving: list[Kind] = []
    slowest = None
    for group, (idle, timeline, why) in zip(groups, looks, strict=True):
        if idle is None or timeline is None or why:
            rows.append(row(group[0], group[0].kind, router=ANY, idle=idle, reason=why))
            continue
        serving.append((group, idle))
        if slowest is None or timeline.session_s > slowest.session_s:
            slowest = timeline
    unfit_kinds = {one.kind: (one, why) for one, why in reversed(unfit)}
    rows += [row(one, kind, router=ANY, reason=why) for kind, (one, why) in reversed(unfit_kinds.items())]
    if slowest is None:
        return document(shop, traffic, wanted, None, rows=rows)
    if wanted.gpus_available is not None:
        looked = [(group, available(idle, slowest, _limits(wanted))) for group, idle in serving]
        tasks = [(one, given) for group, given in looked for one in different(group, given)]
        found: list[CapacityRow] = run(capacity, tasks)
        return document(shop, traffic, wanted, None, rows=rows, capacity=_by_load(found))
    rate = rate_of(wanted, traffic)
    span = span_for(slowest, wanted.objectives, rate, traffic.tiles.attempts_per_task, wanted.max_requests)
    demand = Demand(
        tasks_per_s=rate,
        span=span,
        timeline=slowest,
        headroom=wanted.headroom,
        lose_one=wanted.lose_one,
        max_gpus=wanted.max_gpus,
    )
    every = wanted.every or wanted.growth is not None
    rows = sorted(_sized(serving, demand, run, every=every), key=usd) + rows
    growth = _grown(rows, serving, demand, wanted.growth, run) if wanted.growth is not None else []
    steady = traffic.steady(rate, span, slowest)
    return document(shop, traffic, wanted, (span, steady), rows=rows, growth=growth)


def _sized(serving: Sequence[Kind], demand: Demand, run: Run, *, every: bool) -> list[Row]:
    """The rows of *serving* in its order.

    Unless *every* one is to be sized, those that are likely to cost least and to be the fewest GPUs come first; others
    are looked at only as far as they could still be better.
    """
    first = list(range(len(serving)))
    if not every:
        costs: list[tuple[float, int]] = run(likely_cost, [(group[0], (idle, demand)) for group, idle in serving])
        order = range(len(serving))
        first = sorted({min(order, key=lambda at: costs[at]), min(order, key=lambda at: costs[at][::-1])})
    tasks = [(serving[at][0][0], (serving[at][1], demand, serving[at][0], None, every)) for at in first]
    found: dict[int, list[Row]] = dict(zip(first, run(size_kind, tasks), strict=True))
    rest = [at for at in range(len(serving)) if at not in found]
    rivals = {at: _rival(found, at) for at in rest}
    others = [(serving[at][0][0], (serving[at][1], demand, serving[at][0], rivals[at], every)) for at in rest]
    found |= dict(zip(rest, run(size_kind, others), strict=True))
    return [one for at in sorted(found) for one in found[at]]


def _rival(found: Mapping[int, list[Row]], at: int) -> Rival | None:
    """What candidate *at* must beat: as good as the best of *found* is enough if it comes before them."""
    served = [(usd(one), number) for number, rows in found.items() for one in rows if one.sized is not None]
    if not served:
        return None
    cheapest, fewest = min(served), min(served, key=lambda one: (one[0][::-1], one[1]))
    ties = at < max(cheapest[1], fewest[1])
    return Rival(least_usd=cheapest[0], fewest_gpus=fewest[0][::-1], ties=ties)


def _limits(wanted: Wanted) -> tuple[int, float, bool, int]:
    assert wanted.gpus_available is not None
    return wanted.gpus_available, wanted.headroom, wanted.lose_one, wanted.max_requests


def _by_load(rows: list[CapacityRow]) -> list[CapacityRow]:
    return sorted(rows, key=lambda one: -(one.tasks_per_s or 0.0))


def _grown(rows: list[Row], serving: Sequence[Kind], demand: Demand, factor: float, run: Run) -> list[Growth]:
    """The cheapest kinds of replicas at *factor* times the rate, over the same time, with the best router of each."""
    known = {one.name: number for number, (group, _) in enumerate(serving) for one in group}
    known |= {group[0].kind: number for number, (group, _) in enumerate(serving)}
    best = list(dict.fromkeys(known[one.name] for one in rows if one.sized is not None))[:GROWN]
    grown = replace(demand, tasks_per_s=demand.tasks_per_s * factor)
    tasks = [(group[0], (idle, grown, group, None, False)) for group, idle in (serving[at] for at in best)]
    cheapest: list[Row] = [min(found, key=usd) for found in run(size_kind, tasks)]
    return [Growth(name=one.name, reason=one.reason, sized=one.sized) for one in sorted(cheapest, key=usd)]
