"""``simtool sessions``: what an agent's session, and a whole task, takes in time, GPU seconds and money."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scenarios.options.settings import Settings
from simtool import options as o
from simtool.bind import with_settings

if TYPE_CHECKING:
    from scenarios.agents.sessionreport import GateFigures, SessionReport, UnitCost, UnitFigures

_MARKS = ("p50", "p90", "p99", "max")
_QUANTITIES = {
    "latency_s": "latency s",
    "decode_s": "  decode s",
    "prefill_s": "  prefill s",
    "queue_s": "  queue s",
    "tool_wait_s": "  tool wait s",
    "gpu_s": "GPU s",
    "usd": "USD per 1,000",
    "turns": "turns",
    "draws": "draws",
}
"""Fields of UnitFigures with their names in the table; the parts of the latency are set in."""


@with_settings()
def command(
    traces: o.Paths,
    *,
    settings: Settings,
    json: o.Json = None,
    no_progress: o.NoProgress = False,
) -> None:
    """Replay agent sessions and give latency, GPU seconds and cost by session and by task.

    A task is a session that a user started with all sub-agents. nu is measured, with its interval.
    """
    from scenarios.agents.sessionreport import session_reports
    from scenarios.ask import ask
    from simtool.console import write_json
    from simtool.progress import reading, replaying

    with reading(no_progress) as count:
        asked = ask(traces, settings.read, settings.replay, progress=count, watch=replaying(count))
    reports = session_reports(asked, settings.replay.gate, settings.replay.seed)
    if json is not None:
        write_json(reports, json)
    if json != "-":
        _show(reports)


def _show(reports: list[SessionReport]) -> None:
    from scenarios.agents.quality import told
    from simtool.console import number, percent, stdout_console, table

    console = stdout_console()
    first = reports[0]
    share = first.tasks.time_share
    console.print(
        f"[bold]{first.tasks.count:,} tasks, {first.sessions.count:,} sessions; a task takes "
        f"{number(first.tasks.latency_s['mean'])} s, {percent(share['tool_wait_s'])} of its time tools, "
        f"{percent(share['queue_s'])} queue; nu {number(first.nu.value)} (95 %: {number(first.nu.low)} to "
        f"{number(first.nu.high)})[/bold]"
    )
    marks = ["mean", "share", *_MARKS]
    columns = ["", *marks, *(f"mean at gamma {report.gamma}" for report in reports[1:])]
    for title, name in _units(first):
        rows = _rows([getattr(report, name) for report in reports])
        console.print()
        console.print(table(f"{title}, gamma {first.gamma}", columns, rows))
    console.print()
    console.print(table("What results cost, failures in it", ["", *_gammas(reports)], _costs(reports)))
    known = first.cost.tasks_with_outcome
    outcome = "whether the task came out right is not known"
    if known:
        others = first.tasks.count - known
        outcome = f"the recording has the outcome of {known:,} tasks"
        outcome += f"; the other {others:,} count as not solved" if others else ""
    if first.gate is None:
        accepted = "no --gate: a turn counts as accepted by its recorded verdict or, without one, at once"
        console.print(f"  {accepted}; {outcome}", markup=False)
    elif known:
        console.print(f"  {outcome}; a task also fails where the gate gives a turn up", markup=False)
    for report in reports:
        if report.gate is not None:
            console.print(f"  gate at gamma {report.gamma}: {_gate(report.gate)}", markup=False)
    console.print(f"Quality: {told(first.quality)}.", markup=False)


def _gammas(reports: list[SessionReport]) -> list[str]:
    return [f"gamma {report.gamma}" for report in reports]


def _costs(reports: list[SessionReport]) -> list[tuple[str, ...]]:
    from simtool.console import number

    costs = [report.cost for report in reports]
    return [
        ("accepted turns", *(f"{cost.accepted_turns:,}" for cost in costs)),
        ("GPU s per accepted turn", *(number(cost.gpu_s_per_accepted_turn) for cost in costs)),
        ("USD per 1,000 accepted turns", *(number(_thousand(cost.usd_per_accepted_turn)) for cost in costs)),
        (f"solved tasks ({_meaning(costs[0])})", *(f"{cost.solved_tasks:,}" for cost in costs)),
        ("GPU s per solved task", *(number(cost.gpu_s_per_solved_task) for cost in costs)),
        ("USD per 1,000 solved tasks", *(number(_thousand(cost.usd_per_solved_task)) for cost in costs)),
    ]


def _meaning(cost: UnitCost) -> str:
    return "recorded as solved, every turn accepted" if cost.tasks_with_outcome else "every turn accepted"


def _thousand(usd: float | None) -> float | None:
    return None if usd is None else usd * 1000


def _gate(gate: GateFigures) -> str:
    from simtool.console import number

    rejected = ", ".join(f"{count:,} by {check}" for check, count in gate.rejected_by.items())
    return (
        f"{gate.verdicts:,} verdicts, rejected {rejected or 'none'}; {gate.turns_given_up:,} turns given up, "
        f"{gate.turns_abandoned:,} never sent; {number(gate.gpu_s)} GPU s of its own "
        f"({number(gate.gpu_s_per_accepted_turn)} an accepted turn), {number(gate.usd)} USD"
    )


def _units(report: SessionReport) -> list[tuple[str, str]]:
    if report.tasks.count == report.sessions.count:
        return [("By task, each of one session", "tasks")]
    return [("By task", "tasks"), ("By session", "sessions")]


def _rows(units: list[UnitFigures]) -> list[tuple[str, ...]]:
    """A row a quantity: its distribution in the first of *units*, and its mean in the others."""
    from simtool.console import number, percent

    first, *others = units
    rows = []
    for name, shown in _QUANTITIES.items():
        scale = 1000 if name == "usd" else 1
        part = first.time_share.get(name)

        def value(unit: UnitFigures, mark: str, name: str = name, scale: int = scale) -> str:
            found = getattr(unit, name)[mark]
            return number(None if found is None else found * scale)

        rows.append(
            (
                shown,
                value(first, "mean"),
                "" if part is None else percent(part),
                *(value(first, mark) for mark in _MARKS),
                *(value(unit, "mean") for unit in others),
            )
        )
    return rows
