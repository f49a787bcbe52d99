"""Prints what only some replays have: latency objectives, and replicas side by side."""

from __future__ import annotations

from rich.console import Console

from scenarios.runs.runparts import Goodput, ReplicaRow
from scenarios.runs.runsummary import RunSummary
from simtool.console import number, percent, table


def show_goodput(console: Console, run: RunSummary) -> None:
    """A row an objective, and all of them together; nothing without objectives."""
    goodput = run.goodput
    if goodput is None:
        return
    wanted = percent(goodput.slo_attainment)
    rows = [
        (
            f"{slo.metric.upper()} ms",
            number(slo.limit_ms),
            number(slo.value_ms),
            percent(slo.attainment),
            _met(met=slo.met),
        )
        for slo in goodput.slos
    ]
    rows.append(("all", "", "", percent(goodput.attainment), _met(met=goodput.met)))
    console.print()
    console.print(table(f"Objectives: {wanted} of requests", ["", "limit", f"at {wanted}", "attained", ""], rows))
    console.print(f"  {_rates(goodput)}", markup=False)


def _met(*, met: bool) -> str:
    return "met" if met else "missed"


def _rates(goodput: Goodput) -> str:
    return (
        f"goodput {number(goodput.request_goodput_per_s)} requests/s, "
        f"{number(goodput.token_goodput_per_s)} tokens/s (accepted requests that meet all)"
    )


def show_replicas(console: Console, run: RunSummary) -> None:
    """A row a replica; nothing for a single one."""
    if not run.replicas:
        return
    rows = [_replica(index, row) for index, row in enumerate(run.replicas)]
    columns = ["replica", "requests", "busy", "hit rate", "KV at most", "running", "waiting", "evicted"]
    console.print()
    console.print(table("Replicas (running, waiting: at most)", columns, rows))


def _replica(index: int, row: ReplicaRow) -> tuple[str, ...]:
    return (
        str(index) if row.role == "both" else f"{index} {row.role}",
        f"{row.requests:,}",
        percent(row.utilization),
        percent(row.prefix_cache_hit_rate_tokens) if row.role != "decode" else "-",
        percent(row.max_kv_cache_usage),
        str(row.max_num_requests_running),
        str(row.max_num_requests_waiting),
        f"{row.num_evicted_blocks:,}",
    )
