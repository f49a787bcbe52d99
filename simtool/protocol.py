"""``simtool protocol``: the paper's experiment, declared, run on the modelled engine, and checked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scenarios.options.settings import Settings
from simtool import options as o
from simtool.bind import with_settings

if TYPE_CHECKING:
    from scenarios.protocol.report import ProtocolAnswer

_ARMS = "Arms"

app = typer.Typer(
    no_args_is_help=True,
    help="The law's own experiment: arms A (prose), B (tool calls), C (reasoning), D (agent loops), declared before "
    "they are run, checked against P1 and R1 to R4.",
)


@app.command("run")
@with_settings(without=("gamma", "max_concurrency", "grammar"))
def run(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where declaration, arms and results go.")],
    *,
    schemas: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="BFCL-style function schemas for arm B.", rich_help_panel=_ARMS),
    ] = None,
    trace: Annotated[
        list[str] | None, typer.Option("--trace", help="Recording for arm D; may be repeated.", rich_help_panel=_ARMS)
    ] = None,
    sessions: Annotated[int, typer.Option(min=2, help="Sessions an arm.", rich_help_panel=_ARMS)] = 60,
    gamma: Annotated[str, typer.Option(help="Draft depths.", rich_help_panel=o.SPECULATION)] = "4,8,16",
    batch: Annotated[str, typer.Option(help="Batch sizes.", rich_help_panel=o.LOAD)] = "1,8",
    settings: Settings,
    force: Annotated[
        bool, typer.Option("--force", help="Replace another declaration.", rich_help_panel=o.OUTPUT)
    ] = False,
    json: o.Json = None,
) -> None:
    """Declare the experiment (preregistration.json, hashed), then run it on the modelled engine and check it.

    The arms are written as canonical traces too, to be run on a real server: list its results in a manifest
    for ``simtool protocol check``.
    """
    from scenarios.protocol.arms import ArmOptions
    from scenarios.protocol.replays import ProtocolOptions
    from scenarios.protocol.report import check_protocol
    from scenarios.protocol.simulate import RESULTS, run_protocol

    arms = ArmOptions(schemas=schemas, traces=trace or (), sessions=sessions, seed=settings.replay.seed)
    options = ProtocolOptions(
        arms=arms,
        replay=settings.replay,
        gammas=_numbers("--gamma", gamma),
        batches=_numbers("--batch", batch),
        force=force,
    )
    run_protocol(options, settings.read, folder)
    _give(check_protocol(folder / RESULTS), json)


@app.command("check")
def check(
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help="results.json, or a manifest of measured runs.")],
    *,
    preregistration: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The declaration; default: the one beside RESULTS.", rich_help_panel=_ARMS),
    ] = None,
    json: o.Json = None,
) -> None:
    """Check results against P1 and R1 to R4: not rejected, rejected, or not enough data.

    A manifest lists runs with the files that they left: vLLM bench JSON, metrics dumps, logs, recordings with
    rounds; and pairs of outputs at temperature 0 for R4.
    """
    from scenarios.protocol.report import check_protocol

    _give(check_protocol(results, preregistration), json)


def _numbers(option: str, text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"{option} {text!r} is no list of whole numbers, as in 4,8,16") from None


def _give(answer: ProtocolAnswer, json: str | None) -> None:
    from simtool.console import write_json

    if json is not None:
        write_json(answer, json)
    if json != "-":
        _show(answer)


def _range(counts: list[int]) -> str:
    return f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"


def _show(answer: ProtocolAnswer) -> None:
    from scenarios.agents.quality import told
    from simtool.console import milliseconds, number, stdout_console, table

    console = stdout_console()
    shown = ", ".join(f"{name} {outcome.value}" for name, outcome in answer.outcomes.items())
    console.print(f"[bold]{answer.origin}: {shown}[/bold]")
    for note in answer.notes:
        console.print(f"  {note}", markup=False)
    rows = [
        (
            ruling.predicate,
            ruling.where,
            ruling.outcome.value,
            number(ruling.estimate.value) if ruling.estimate else "-",
            f"{number(ruling.estimate.low)} to {number(ruling.estimate.high)}" if ruling.estimate else "-",
            number(ruling.threshold),
            number(ruling.n),
        )
        for ruling in answer.rulings
        if ruling.estimate is not None
    ]
    columns = ["predicate", "where", "ruling", "estimate", "95 %", "limit", "n"]
    console.print()
    console.print(table("Rulings", columns, rows))
    sessions = sorted({ruling.sessions for ruling in answer.rulings if ruling.sessions is not None})
    if sessions:
        console.print(
            f"  n counts rounds; P1 and R1 have their intervals over {_range(sessions)} sessions", markup=False
        )
    untested: dict[tuple[str, str], list[str]] = {}
    for ruling in answer.rulings:
        if ruling.estimate is None:
            untested.setdefault((ruling.predicate, ruling.reason), []).append(ruling.where.split(",")[0])
    for (predicate, reason), places in untested.items():
        shown = ", ".join(dict.fromkeys(places))
        console.print(f"  {predicate} not enough data ({shown}): {reason}", markup=False)
    for comparison in answer.pairs:
        if comparison.first is not None:
            console.print(f"  R4: {comparison.first.text}", markup=False)
    console.print()
    fitted = [
        (
            str(row.batch),
            milliseconds(row.c_1_s),
            number(row.o),
            number(row.delta_plus_d),
            ", ".join(f"{value:.2f} at {gamma}" for gamma, value in row.kappa.items()) or "-",
            row.problem or "fitted",
        )
        for row in answer.calibration
    ]
    console.print(table("Arm A calibrates", ["b", "c_1 ms", "o", "delta + d", "kappa at gamma", ""], fitted))
    if answer.quality is not None:
        console.print(f"Quality: {told(answer.quality)}.", markup=False)
    if answer.preregistration_sha256 is not None:
        console.print(f"Pre-registration sha256 {answer.preregistration_sha256}", markup=False)
