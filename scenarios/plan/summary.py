"""Puts the result of a plan together: the best rows, what was offered, notes and warnings."""

from __future__ import annotations

from importlib.metadata import version

from scenarios.plan.document import SCHEMA_VERSION, CapacityRow, Growth, Plan, Row, TrafficInfo
from scenarios.plan.span import Span
from scenarios.plan.traffic import Steady, Traffic
from scenarios.plan.wanted import Wanted, rate_of
from scenarios.plan.workers import Shop
from simulator.config import MODELLED_ENGINE

_LOST_HITS = 0.1
"""Share of the prompt tokens by which the hit rate falls before it is worth a word."""


def usd(one: Row) -> tuple[float, int]:
    """What rows are ordered by: cost, then GPUs; those that serve at no size last."""
    return (one.sized.usd_per_hour, one.sized.gpus) if one.sized is not None else (float("inf"), 0)


def document(
    shop: Shop,
    traffic: Traffic,
    wanted: Wanted,
    offered: tuple[Span, Steady] | None,
    *,
    rows: list[Row],
    growth: list[Growth] | None = None,
    capacity: list[CapacityRow] | None = None,
) -> Plan:
    """All that was found; *offered* is what a replay at the asked rate had."""
    sized = [at for at, one in enumerate(rows) if one.sized is not None]
    loaded = shop.loaded
    workload = loaded.workload
    span, steady = offered if offered is not None else (None, None)
    rate = None if wanted.gpus_available is not None else rate_of(wanted, traffic)
    return Plan(
        schema_version=SCHEMA_VERSION,
        tool="simtool",
        version=version("simtool"),
        modelled_engine=MODELLED_ENGINE,
        seed=traffic.options.seed,
        traffic=TrafficInfo(
            trace_sha256=loaded.recording.sha256,
            recorded_tasks=len(traffic.tiles.sessions),
            recorded_requests=workload.n_attempts,
            tasks_per_s=rate,
            requests_per_s=None if rate is None else rate * traffic.tiles.attempts_per_task,
            span=span,
            tasks=steady.tasks if steady is not None else 0,
            requests=steady.workload.n_attempts if steady is not None else 0,
            drawn_tasks=traffic.n_tasks,
            copies=steady.workload.n_attempts / (traffic.tiles.attempts_per_task * traffic.n_tasks) if steady else 0.0,
        ),
        targets=wanted.objectives.names,
        headroom=wanted.headroom,
        lose_one=wanted.lose_one,
        growth_factor=wanted.growth,
        gpus_limit=wanted.gpus_available or wanted.max_gpus,
        rows=rows,
        cheapest=min(sized, key=lambda at: usd(rows[at]), default=None),
        fewest_gpus=min(sized, key=lambda at: (usd(rows[at])[1], usd(rows[at])[0]), default=None),
        growth=growth or [],
        capacity=capacity or [],
        assumptions=loaded.recording.notes() | _assumed(rows),
        notes=_notes(shop, wanted, traffic),
        warnings=_warnings(span, rows, capacity or []),
    )


def _assumed(rows: list[Row]) -> dict[str, int]:
    """What candidates take for granted."""
    found: dict[str, int] = {}
    for one in rows:
        found |= one.idle.assumptions if one.idle is not None else {}
    return found


def _notes(shop: Shop, wanted: Wanted, traffic: Traffic) -> list[str]:
    found = [
        *wanted.notes,
        "tasks arrive at random (Poisson): the recorded ones over and over, in an order drawn anew for each pass",
        "KV blocks of one task alone are new in each copy, those of several tasks (system prompts) stay shared",
        "tasks that came before are under way at the start of a replay, as far on as an idle replica would have them",
        "the fewest replicas are of one draw of arrivals: another --seed may give one more or one fewer",
    ]
    if shop.loaded.workload.tokens is not None:
        found.append(
            "a measured drafter does with every copy of a task what it did with the recorded one, which it saw once: "
            "copies do not draft from each other"
        )
    if wanted.headroom > 1 and wanted.lose_one:
        found.append("the burst and the lost replica are met each by itself, not both at once")
    if wanted.lose_one:
        found.append("a lost replica is one fewer from the start: what it held in its cache or queue is not replayed")
    if len(traffic.tiles.sessions) == 1:
        found.append("the recording has one task: nothing in it shows what different tasks would share")
    if traffic.n_tasks < len(traffic.tiles.sessions):
        found.append(f"{traffic.n_tasks} of {len(traffic.tiles.sessions)} recorded tasks are repeated, drawn at random")
    return found


def _warnings(span: Span | None, rows: list[Row], capacity: list[CapacityRow]) -> list[str]:
    found = []
    if span is not None and span.shortened:
        found.append(
            f"--max-requests shortened warm-up, measured time and drain to {span.warmup_s:.0f}, {span.measured_s:.0f} "
            f"and {span.drain_s:.0f} s: load may still have been rising while it was measured; give more"
        )
    found.extend(
        f"{one.name}: --max-requests shortened its replays: load may still have been rising in them; give more"
        for one in capacity
        if one.at_rate is not None and one.at_rate.shortened
    )
    lost = [
        (one.idle.prefix_cache_hit_rate - one.sized.at_rate.prefix_cache_hit_rate, one)
        for one in rows
        if one.sized is not None and one.idle is not None
    ]
    most, one = max(lost, key=lambda pair: pair[0], default=(0.0, None))
    if one is not None and most > _LOST_HITS:
        found.append(
            f"{one.name}: the prefix cache hits {most:.0%} fewer of the prompt tokens than on an idle replica: "
            "try other --routers, or --kv-offload"
        )
    searches = [(one.name, one.breaches) for one in rows] + [(one.name, one.breaches) for one in capacity]
    found.extend(
        f"{name}: not monotone: {breach.failed:g} failed although {breach.passed:g} passed"
        for name, breaches in searches
        for breach in breaches
    )
    return found
