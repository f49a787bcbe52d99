"""What a plan says, on the terminal: the best plans, all candidates, why not fewer, growth, what it rests on."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console

from scenarios.plan.document import CapacityRow, Plan, Row, Sized, shortfall
from scenarios.plan.probe import Probe
from scenarios.plan.targets import GOODPUT, TargetResult
from simtool.console import number, percent, stderr_console, stdout_console, table
from traces.safetext import safe


def show(plan: Plan, *, quiet: bool) -> None:
    """Print *plan* to standard output, its warnings to standard error; only the first lines if *quiet*."""
    console = stdout_console()
    for line in _capacity_headline(plan) if plan.capacity else _headline(plan):
        console.print(safe(line), style="bold", markup=False)
    if not quiet:
        _traffic(console, plan)
        if plan.capacity:
            _capacity(console, plan)
        else:
            _sizes(console, plan)
            _fewer(console, plan)
            _growth(console, plan)
        _unserved(console, plan)
        for text in plan.notes:
            console.print(f"  {text}", markup=False)
        for assumption, count in plan.assumptions.items():
            console.print(f"  {safe(assumption)} ({count:,})", markup=False)
        console.print(
            f"  recording {plan.traffic.trace_sha256[:12]}, seed {plan.seed}, simtool {plan.version}, modelled engine "
            f"{plan.modelled_engine}",
            markup=False,
        )
    errors = stderr_console()
    for warning in plan.warnings:
        errors.print(f"warning: {warning}", markup=False)


def _headline(plan: Plan) -> Iterator[str]:
    rate = plan.traffic.tasks_per_s or 0.0
    if plan.cheapest is None or plan.fewest_gpus is None:
        yield f"No candidate meets the targets at {rate:g} sessions/s with {_gpus(plan.gpus_limit)} or fewer"
        return
    for label, at in (("Least money", plan.cheapest), ("Fewest GPUs", plan.fewest_gpus)):
        row = plan.rows[at]
        sized = row.sized
        assert sized is not None
        yield (
            f"{label}: {_gpus(sized.gpus)}, {sized.replicas} x {row.name}: {number(sized.usd_per_hour)} $/h, "
            f"{number(sized.usd_per_1000_tasks)} $ per 1,000 sessions"
        )


def _gpus(count: int) -> str:
    return "1 GPU" if count == 1 else f"{count} GPUs"


def _capacity_headline(plan: Plan) -> Iterator[str]:
    best = plan.capacity[0]
    if best.tasks_per_s is None:
        yield f"{_gpus(plan.gpus_limit)} meet the targets at no rate tried"
        return
    most = number(best.tasks_per_s)
    yield f"{_gpus(plan.gpus_limit)}: at most {most} sessions/s within the targets, with {best.replicas} x {best.name}"


def _traffic(console: Console, plan: Plan) -> None:
    traffic = plan.traffic
    console.print(f"Targets: {'; '.join(plan.targets)}{_conditions(plan)}", markup=False)
    recorded = f"{traffic.recorded_tasks:,} recorded sessions with {traffic.recorded_requests:,} requests"
    if traffic.span is None or traffic.tasks_per_s is None:
        console.print(f"Traffic: {recorded}, repeated", markup=False)
        return
    span = traffic.span
    console.print(
        f"Traffic: {traffic.tasks_per_s:g} sessions/s ({number(traffic.requests_per_s)} requests/s) of {recorded}, "
        f"each {traffic.copies:.1f} times: a replay has {traffic.requests:,} requests; warm-up {span.warmup_s:.0f} s, "
        f"measured {span.measured_s:.0f} s, drain {span.drain_s:.0f} s",
        markup=False,
    )


def _conditions(plan: Plan) -> str:
    burst = f"; also at {plan.headroom:g} times the rate" if plan.headroom > 1 else ""
    return burst + ("; also with one replica fewer" if plan.lose_one else "")


def _sizes(console: Console, plan: Plan) -> None:
    rows = [
        (
            f"{_mark(plan, at)}{row.name}",
            str(sized.replicas),
            str(sized.gpus),
            number(sized.usd_per_hour),
            number(sized.usd_per_1000_tasks),
            *(_value(one) for one in sized.at_rate.targets),
            number(sized.at_rate.running_per_replica),
            percent(sized.at_rate.utilization),
            percent(sized.at_rate.prefix_cache_hit_rate),
        )
        for at, row, sized in _sized(plan)
    ]
    if not rows:
        return
    heads = _target_heads(next(sized for _, _, sized in _sized(plan)).at_rate)
    columns = ["", "replicas", "GPUs", "$/h", "$/1k sessions", *heads, "running", "busy", "hit rate"]
    console.print()
    console.print(table("Fewest that meet all targets (* least money, + fewest GPUs)", columns, rows))


def _sized(plan: Plan) -> Iterator[tuple[int, Row, Sized]]:
    for at, row in enumerate(plan.rows):
        if row.sized is not None:
            yield at, row, row.sized


def _mark(plan: Plan, at: int) -> str:
    return ("*" if at == plan.cheapest else " ") + ("+ " if at == plan.fewest_gpus else "  ")


def _target_heads(probe: Probe) -> list[str]:
    return [f"{one.name} {'>=' if one.name == GOODPUT else '<='} {one.limit:g}" for one in probe.targets]


def _value(one: TargetResult) -> str:
    if one.value is None:
        return "refused"
    return f"{one.value:.4f}" if one.name == GOODPUT else number(one.value)


def _fewer(console: Console, plan: Plan) -> None:
    """Why the next smaller number does not do, and what burst and lost replica come to."""
    rows = []
    for _, row, sized in _sized(plan):
        fewer = sized.one_fewer
        why = "1 is the least" if fewer is None else f"{fewer.replicas} {_when(plan, fewer)}: {shortfall(fewer)}"
        extra = [_closest(sized.at_burst)] if plan.headroom > 1 else []
        extra += [_closest(sized.one_lost)] if plan.lose_one else []
        rows.append((row.name, sized.decided_by, why, *extra))
    if not rows:
        return
    heads = ["", "decided by", "one replica fewer"]
    heads += ["closest in burst"] if plan.headroom > 1 else []
    heads += ["closest with one lost"] if plan.lose_one else []
    console.print()
    console.print(table("Why not fewer", heads, rows))


def _when(plan: Plan, probe: Probe) -> str:
    return "in burst" if probe.tasks_per_s != plan.traffic.tasks_per_s else "left"


def _closest(probe: Probe | None) -> str:
    """The target that is met by least."""
    if probe is None:
        return "-"
    one = max(probe.targets, key=lambda target: target.over)
    return f"{one.name} {_value(one)} of {one.limit:g}"


def _growth(console: Console, plan: Plan) -> None:
    if plan.growth_factor is None or not plan.growth:
        return
    rows = []
    for one in plan.growth:
        sized = one.sized
        cells = ("-", "-", "-", "-") if sized is None else (
            str(sized.replicas), str(sized.gpus), number(sized.usd_per_hour), number(sized.usd_per_1000_tasks)
        )  # fmt: skip
        rows.append((one.name, *cells, safe(one.reason)))
    rate = (plan.traffic.tasks_per_s or 0.0) * plan.growth_factor
    console.print()
    console.print(
        table(
            f"At {plan.growth_factor:g} times the rate, {rate:g} sessions/s: the cheapest of above",
            ["", "replicas", "GPUs", "$/h", "$/1k sessions", ""],
            rows,
        )
    )


def _capacity(console: Console, plan: Plan) -> None:
    known = [row for row in plan.capacity if row.at_rate is not None]
    rows = [(row.name, *_capacity_cells(row)) for row in known]
    if rows and known[0].at_rate is not None:
        heads = _target_heads(known[0].at_rate)
        columns = [
            "",
            "replicas",
            "sessions/s",
            "$/h",
            "$/1k sessions",
            *heads,
            "decided by",
            "the next rate tried there",
        ]
        console.print()
        console.print(table(f"Most load on {_gpus(plan.gpus_limit)}", columns, rows))
    for row in plan.capacity:
        if row.at_rate is None:
            console.print(f"  {row.name}: {safe(row.reason)}", markup=False)


def _capacity_cells(row: CapacityRow) -> Iterator[str]:
    assert row.at_rate is not None
    yield str(row.replicas)
    yield number(row.tasks_per_s)
    yield number(row.usd_per_hour)
    yield number(row.usd_per_1000_tasks)
    yield from (_value(one) for one in row.at_rate.targets)
    yield row.decided_by
    fails = row.next_rate
    yield "-" if fails is None else f"{number(fails.tasks_per_s)}: {shortfall(fails)}"


def _unserved(console: Console, plan: Plan) -> None:
    for title, rows in (
        (
            "Not better than the best: fewer fail, more cost as much (--all sizes them too)",
            [one for one in plan.rows if one.looked_at is not None],
        ),
        ("Serve at no size", [one for one in plan.rows if one.reason and one.looked_at is None]),
    ):
        if rows:
            console.print()
            console.print(title, style="bold", markup=False)
        for row in rows:
            console.print(f"  {row.name}: {safe(row.reason)}", markup=False)
