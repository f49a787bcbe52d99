"""``simtool spork``: what would starting the next tool on a guess save, and what would it waste?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from scenarios.options.settings import Settings
from simtool import options as o
from simtool.bind import with_settings

if TYPE_CHECKING:
    from scenarios.agents.spork import SporkAnswer


@with_settings()
def command(
    traces: o.Paths,
    *,
    settings: Settings,
    accuracy: Annotated[
        list[float] | None,
        typer.Option(help="Declared accuracy; may be repeated (0.746 and 0.996).", rich_help_panel="Guessing"),
    ] = None,
    cost_s: Annotated[
        float, typer.Option("--cost-s", min=0, help="Seconds charged for a wrong start.", rich_help_panel="Guessing")
    ] = 0.0,
    json: o.Json = None,
    no_progress: o.NoProgress = False,
) -> None:
    """Speculative tool execution: latency saved and work wasted per session.

    For declared accuracies, and for simple predictors measured on your own trace: the commonest calls, the last
    calls again, and Markov chains of order 1 to 3.
    """
    from scenarios.agents.spork import PUBLISHED, spork
    from scenarios.ask import ask
    from simtool.console import write_json
    from simtool.progress import reading, replaying

    with reading(no_progress) as count:
        asked = ask(traces, settings.read, settings.replay, progress=count, watch=replaying(count))
        answer = spork(asked, accuracy or PUBLISHED, cost_s, settings.replay.seed)
    if json is not None:
        write_json(answer, json)
    if json != "-":
        _show(answer)


def _show(answer: SporkAnswer) -> None:
    from simtool.console import number, percent, stdout_console, table

    console = stdout_console()
    measured = [row for row in answer.predictors if row.origin == "measured"]
    saves = any(row.saved_s.value > 0 for row in answer.predictors)
    best = max(measured, key=lambda row: row.saved_s.value if saves else row.accuracy.value)
    gain = f"saves {number(best.saved_s.value)} s a session ({percent(best.saved_share)} of its latency)"
    if not saves:
        gain = "saves nothing that is known: no tool has a wait (give --unknown-tool-wait SECONDS)"
    console.print(
        f"[bold]Best measured predictor: {best.name}, {percent(best.accuracy.value)} of calls guessed "
        f"({percent(best.accuracy_told)} if told that the turn calls); {gain}[/bold]"
    )
    console.print(
        f"{answer.calling_turns:,} of {answer.turns:,} turns call tools, {answer.calls:,} calls in all, "
        f"{answer.known_waits:,} turns with a recorded wait; guessing all calls of a turn overlaps "
        f"{number(answer.overlap_s)} s of its waits on average",
        markup=False,
    )
    rows = [
        (
            row.name,
            percent(row.accuracy.value),
            f"{percent(row.accuracy.low)} to {percent(row.accuracy.high)}",
            percent(row.accuracy_told),
            percent(row.whole_turns),
            number(row.saved_s.value),
            f"{number(row.saved_s.low)} to {number(row.saved_s.high)}",
            percent(row.saved_share),
            number(row.guesses),
            number(row.wasted_runs),
            number(row.wasted_s),
        )
        for row in answer.predictors
    ]
    columns = ["predictor", "guessed", "95 %", "if told", "whole turns", "saved s", "95 %", "of latency"]
    columns += ["tools started", "for nothing", "wasted s"]
    console.print()
    console.print(table("Per session", columns, rows))
    if len(best.guessed_by_calls) > 1:
        shown = ", ".join(f"{number(mean)} of {calls}" for calls, mean in best.guessed_by_calls.items())
        console.print(f"  {best.name} guesses, by the calls of a turn: {shown}", markup=False)
    for note in answer.notes:
        console.print(f"  {note}", markup=False)
