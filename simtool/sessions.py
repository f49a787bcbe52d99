"""``simtool sessions``: what an agent's session, and a whole task, takes in time, GPU seconds and money."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scenarios.settings import Settings
from simtool import options as o
from simtool.bind import with_settings

if TYPE_CHECKING:
    from scenarios.sessionreport import GateFigures, SessionReport, UnitFigures


@with_settings()
def command(
    traces: o.Paths,
    *,
    settings: Settings,
    json: o.Json = None,
) -> None:
    """Replay agent sessions and give latency, GPU seconds and cost by session and by task.

    A task is a session that a user started with all sub-agents. nu is measured, with its interval.
    """
    from scenarios.ask import ask
    from scenarios.sessionreport import session_reports
    from simtool.console import write_json

    asked = ask(traces, settings.read, settings.replay)
    reports = session_reports(asked, settings.replay.gate, settings.replay.seed)
    if json is not None:
        write_json(reports, json)
    if json != "-":
        _show(reports)


def _show(reports: list[SessionReport]) -> None:
    from simtool.console import number, stdout_console, table

    console = stdout_console()
    first = reports[0]
    console.print(
        f"[bold]{first.tasks.count:,} tasks, {first.sessions.count:,} sessions; nu {number(first.nu.value)} (95 %: "
        f"{number(first.nu.low)} to {number(first.nu.high)})[/bold]"
    )
    for title, name in (("By task", "tasks"), ("By session", "sessions")):
        rows = [row for report in reports for row in _rows(report, getattr(report, name))]
        console.print()
        console.print(table(title, ["", "mean", "p50", "p90", "p99", "max"], rows))
    console.print()
    console.print(table("What results cost, failures in it", ["", *_gammas(reports)], _costs(reports)))
    for report in reports:
        if report.gate is not None:
            console.print(f"  gate at gamma {report.gamma}: {_gate(report.gate)}", markup=False)


def _gammas(reports: list[SessionReport]) -> list[str]:
    return [f"gamma {report.gamma}" for report in reports]


def _costs(reports: list[SessionReport]) -> list[tuple[str, ...]]:
    from simtool.console import number

    costs = [report.cost for report in reports]
    return [
        ("accepted turns", *(f"{cost.accepted_turns:,}" for cost in costs)),
        ("GPU s per accepted turn", *(number(cost.gpu_s_per_accepted_turn) for cost in costs)),
        ("USD per accepted turn", *(number(cost.usd_per_accepted_turn) for cost in costs)),
        ("solved tasks (every turn accepted)", *(f"{cost.solved_tasks:,}" for cost in costs)),
        ("GPU s per solved task", *(number(cost.gpu_s_per_solved_task) for cost in costs)),
        ("USD per solved task", *(number(cost.usd_per_solved_task) for cost in costs)),
    ]


def _gate(gate: GateFigures) -> str:
    from simtool.console import number

    rejected = ", ".join(f"{count:,} by {check}" for check, count in gate.rejected_by.items())
    return (
        f"{gate.verdicts:,} verdicts, rejected {rejected or 'none'}; {gate.turns_given_up:,} turns given up, "
        f"{gate.turns_abandoned:,} never sent; {number(gate.gpu_s)} GPU s of its own "
        f"({number(gate.gpu_s_per_accepted_turn)} an accepted turn), {number(gate.usd)} USD"
    )


def _rows(report: SessionReport, figures: UnitFigures) -> list[tuple[str, ...]]:
    from simtool.console import number

    names = ("latency_s", "decode_s", "prefill_s", "queue_s", "tool_wait_s", "gpu_s", "usd", "turns", "draws")
    return [
        (
            f"{name.replace('_s', ' s').replace('_', ' ')}, gamma {report.gamma}",
            *(number(getattr(figures, name)[at]) for at in ("mean", "p50", "p90", "p99", "max")),
        )
        for name in names
    ]
