"""``simtool spork``: what would starting the next tool on a guess save, and what would it waste?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from simtool import options as o
from simtool import sessionoptions as agents

if TYPE_CHECKING:
    from scenarios.spork import SporkAnswer


def command(
    traces: o.Paths,
    *,
    accuracy: Annotated[
        list[float] | None,
        typer.Option(help="Declared accuracy; may be repeated (0.746 and 0.996).", rich_help_panel="Guessing"),
    ] = None,
    cost_s: Annotated[
        float, typer.Option("--cost-s", min=0, help="Seconds charged for a wrong start.", rich_help_panel="Guessing")
    ] = 0.0,
    gamma: Annotated[
        int, typer.Option("--gamma", "--num-speculative-tokens", min=0, help="Depth.", rich_help_panel=o.SPECULATION)
    ] = 8,
    max_concurrency: Annotated[int | None, typer.Option(help="Sessions at a time (8).", rich_help_panel=o.LOAD)] = None,
    tool_waits: agents.ToolWaits = agents.ToolWaitsOption.RECORDED,
    format_name: o.Format = None,
    skip_invalid: o.SkipInvalid = False,
    tokenizer: o.TokenizerName = "qwen3",
    tool_call_format: o.ToolCallFormat = "hermes",
    output_format: o.OutputFormat = None,
    seed: o.Seed = 0,
    json: o.Json = None,
) -> None:
    """Speculative tool execution: latency saved and work wasted per session.

    For declared accuracies, and for simple predictors measured on your own trace: the commonest tool, the last
    tool, and Markov chains of order 2 and 3.
    """
    from scenarios.ask import ask
    from scenarios.options import LoadOptions, PlatformOptions, ReplayOptions
    from scenarios.recording import ReadOptions
    from scenarios.spork import PUBLISHED, spork
    from simtool.console import write_json

    read = ReadOptions(
        format_name=format_name,
        skip_invalid=skip_invalid,
        tokenizer=tokenizer,
        tool_call_format=tool_call_format,
        output_format=output_format,
        seed=seed,
    )
    options = ReplayOptions(
        platform=PlatformOptions(num_speculative_tokens=gamma),
        load=LoadOptions(max_concurrency=max_concurrency, tool_waits=tool_waits.value),
        seed=seed,
    )
    try:
        answer = spork(ask(traces, read, options), accuracy or PUBLISHED, cost_s, seed)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    if json is not None:
        write_json(answer, json)
    if json != "-":
        _show(answer)


def _show(answer: SporkAnswer) -> None:
    from simtool.console import number, percent, stdout_console, table

    console = stdout_console()
    measured = [row for row in answer.predictors if row.origin == "measured"]
    best = max(measured, key=lambda row: row.saved_s.value)
    console.print(
        f"[bold]Best measured predictor: {best.name}, right for {percent(best.accuracy.value)} of calling turns; saves "
        f"{number(best.saved_s.value)} s a session ({percent(best.saved_share)})[/bold]"
    )
    console.print(
        f"{answer.calling_turns:,} of {answer.turns:,} turns call tools, {answer.known_waits:,} with a known wait; a "
        f"right guess overlaps {number(answer.overlap_s)} s on average",
        markup=False,
    )
    rows = [
        (
            row.name,
            percent(row.accuracy.value),
            f"{percent(row.accuracy.low)} to {percent(row.accuracy.high)}",
            number(row.saved_s.value),
            f"{number(row.saved_s.low)} to {number(row.saved_s.high)}",
            percent(row.saved_share),
            number(row.guesses),
            number(row.wasted_runs),
            number(row.wasted_s),
        )
        for row in answer.predictors
    ]
    columns = ["predictor", "accuracy", "95 %", "saved s", "95 %", "share", "started", "wasted runs", "wasted s"]
    console.print()
    console.print(table("Per session", columns, rows))
    for note in answer.notes:
        console.print(f"  {note}", markup=False)
