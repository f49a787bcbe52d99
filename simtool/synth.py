"""``simtool synth``: agent traffic fitted to a recording, or declared, without the recording's text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scenarios.options.settings import Settings
from simtool import options as o
from simtool.bind import with_settings

if TYPE_CHECKING:
    from scenarios.law.schemacurve import SchemaCurve
    from scenarios.synth.run import SynthReport

_WHAT = "What to generate"
_DECLARED = "Declared traffic (without a recording)"


@with_settings(without=("nu",))
def command(
    traces: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TRACE...]", help="Recordings to fit; none: traffic declared by the knobs below."),
    ] = None,
    *,
    settings: Settings,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Canonical trace to write (.jsonl, .gz, .zst, .parquet).",
            rich_help_panel=o.OUTPUT,
        ),
    ],
    sessions: Annotated[int, typer.Option(min=1, help="Sessions started by users.", rich_help_panel=_WHAT)] = 100,
    target_w_s: Annotated[
        float | None,
        typer.Option(
            "--target-w-s",
            "--w-s",
            help="Schema share to reach, by scaling reasoning and prose; shows what speculation saves there.",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    lengths_only: Annotated[
        bool,
        typer.Option("--lengths-only", help="Lengths and labels without text: far faster.", rich_help_panel=_WHAT),
    ] = False,
    neutral_names: Annotated[
        bool,
        typer.Option("--neutral-names", help="Invent the names of tools and keys too.", rich_help_panel=_WHAT),
    ] = False,
    tools: Annotated[int, typer.Option(min=1, help="Tools offered.", rich_help_panel=_DECLARED)] = 8,
    turns: Annotated[int, typer.Option(min=1, help="Mean turns a session.", rich_help_panel=_DECLARED)] = 12,
    rate: Annotated[
        float | None, typer.Option(help="Requests per second; none: no start times.", rich_help_panel=_DECLARED)
    ] = None,
    schema_density: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="Share of arguments with listed or typed values, not free strings.",
            rich_help_panel=_DECLARED,
        ),
    ] = 0.4,
    reasoning: Annotated[
        bool, typer.Option("--reasoning/--no-reasoning", help="Turns begin with reasoning.", rich_help_panel=_DECLARED)
    ] = True,
    nu: Annotated[float, typer.Option(min=1, help="Draws per accepted turn.", rich_help_panel=_DECLARED)] = 1.0,
    json: o.Json = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite --out.", rich_help_panel=o.OUTPUT)] = False,
    no_progress: o.NoProgress = False,
) -> None:
    """Generate agent traffic like a recording's, with none of its text, and say how close it comes.

    What is fitted: turns, outputs as spans, tools with their schemas, waits, arrivals, prompt growth, shared
    prompt heads, retries and sub-agents.
    """
    from scenarios.synth.declared import Declared
    from scenarios.synth.run import SynthOptions, synthesize
    from simtool.console import write_json
    from simtool.progress import progress

    if out.exists() and not force:
        raise typer.BadParameter(f"{out} exists: add --force to overwrite it")
    options = SynthOptions(
        paths=traces or (),
        declared=Declared(
            tools=tools, turns=turns, rate_per_s=rate, schema_density=schema_density, reasoning=reasoning, nu=nu
        ),
        sessions=sessions,
        target_w_S=target_w_s,
        replay=settings.replay,
        lengths_only=lengths_only,
        neutral_names=neutral_names,
        seed=settings.read.seed,
    )
    with progress("sessions written", enabled=not no_progress) as count:
        report = synthesize(options, settings.read, out, progress=count)
    if json is not None:
        write_json(report, json)
    if json != "-":
        _show(report, out)


def _show_saving(saving: SchemaCurve) -> None:
    from simtool.console import number, percent, stdout_console, table

    even, console = saving.break_even, stdout_console()
    rows = [
        (percent(one.w_S), number(one.tokens_per_round), percent(one.decode_saving, sign=True))
        for one in sorted(saving.points, key=lambda one: one.w_S)
    ]
    console.print("\n[bold]What speculation saves of decode, schema spans of this traffic stretched alike[/bold]")
    console.print(table("", ["w_S", "tokens a round", "saving"], rows))
    own = next((one.decode_saving for one in saving.points if one.stretch == 1), None)
    console.print(
        f"  at w_S {percent(even.w_S)} speculation saves {percent(own, sign=True)} of decode, by exact expectation; "
        f"a round costs {number(saving.round_cost_over_c_T)} c_T",
        markup=False,
    )
    star = "none" if even.on_spans is None else percent(even.on_spans)
    console.print(f"  break-even w_S* on these spans: {star} ({even.on_spans_note})", markup=False)
    for name, value, reading in (
        ("exact", even.exact, even.exact_reading),
        ("first order", even.first_order, even.first_order_reading),
    ):
        console.print(f"  by the law, {name}: {'none' if value is None else percent(value)} ({reading})", markup=False)


def _show(report: SynthReport, out: Path) -> None:
    from simtool.console import number, percent, stdout_console, table

    console = stdout_console()
    console.print(
        f"{report.sessions:,} sessions, {report.turns:,} turns written to {out}; w_S {percent(report.w_S)}, reasoning "
        f"and prose scaled by {number(report.non_schema_scale)}",
        markup=False,
    )
    for note in report.notes:
        console.print(f"  {note}", markup=False)
    if report.saving is not None:
        _show_saving(report.saving)
    if report.compared:
        rows = [
            (
                row.quantity,
                number(row.source_mean),
                number(row.synthetic_mean),
                number(row.ks_statistic),
                number(row.ks_p),
                number(row.energy_distance),
                f"{row.source_n:,}",
                f"{row.synthetic_n:,}",
            )
            for row in report.compared
        ]
        columns = ["quantity", "source mean", "synthetic", "KS", "p", "energy", "n", "n synthetic"]
        console.print()
        console.print(table("Source and synthetic (KS: largest gap of the distributions)", columns, rows))
        console.print("  p: how often sessions dealt to both sides at random differ as much", markup=False)
        if report.non_schema_scale != 1:
            console.print("  lengths of prose and reasoning, and what follows from them, were moved on purpose")
