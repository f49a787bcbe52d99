"""``simtool sweep``: the same recording under many options, kept, resumed and compared."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scenarios.options.settings import Settings
from simtool import options as o
from simtool.bind import with_settings

if TYPE_CHECKING:
    from scenarios.sweep.definition import Request
    from simtool.progress import Reporter

EXIT_INTERRUPTED = 130
SWEEP = "Sweep"


@with_settings()
def command(
    traces: o.Paths,
    *,
    axis: Annotated[
        list[str] | None,
        typer.Option(
            "--axis",
            "-a",
            metavar="KEY=VALUES",
            help="An option that varies: 0,4,8 or 1..64:8 (steps) or 1..64*2 (factors); to draw from, 0.1..1 or "
            "1..100:log. Items with commas are parted by semicolons. Repeat for more axes.",
            rich_help_panel=SWEEP,
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="grid|list|random|search|tornado",
            help="grid: every combination; list: the n-th values of all axes together; random; search: samples that "
            "follow what earlier ones gave (optuna); tornado: each assumption alone at its ends.",
            rich_help_panel=SWEEP,
        ),
    ] = "grid",
    samples: Annotated[
        int | None,
        typer.Option("--samples", min=1, help="Points of random and search (32).", rich_help_panel=SWEEP),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            "--seeds", metavar="N,N..", help="Ask each point under each of these seeds.", rich_help_panel=SWEEP
        ),
    ] = None,
    objective: Annotated[
        list[str] | None,
        typer.Option(
            "--objective",
            metavar="FIGURE",
            help="What the front is made of and search makes better: cost, latency, ttft, saving, goodput ... or a "
            "column of the results. Repeat for more; default: cost and latency.",
            rich_help_panel=SWEEP,
        ),
    ] = None,
    reference: Annotated[
        list[str] | None,
        typer.Option(
            "--reference",
            metavar="KEY=VALUE",
            help="Compare each point with the one that has this value and is else like it; default: one point, that of "
            "the options as given, or the first.",
            rich_help_panel=SWEEP,
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", min=1, help="Points at a time; as many as cores.", rich_help_panel=SWEEP),
    ] = None,
    executor: Annotated[
        str, typer.Option("--executor", metavar="local|ray", help="Where points are asked.", rich_help_panel=SWEEP)
    ] = "local",
    address: Annotated[
        str | None,
        typer.Option("--address", metavar="ADDRESS", help="Of the Ray cluster; auto finds one.", rich_help_panel=SWEEP),
    ] = None,
    settings: Settings,  # noqa: ARG001  checked before the sweep starts
    given: dict[str, Any],
    config: str | None,
    output_dir: Annotated[
        Path,
        typer.Option(
            "--output-dir", "-o", help="Folder of the sweep; what is finished there is kept.", rich_help_panel=o.OUTPUT
        ),
    ],
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Start over: replace what --output-dir holds, finished points too.",
            rich_help_panel=o.OUTPUT,
        ),
    ] = False,
    json: o.Json = None,
    no_progress: o.NoProgress = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only the verdict.", rich_help_panel=o.OUTPUT)] = False,
) -> None:
    """Ask about a recording under many options: costs, latencies, the front between them, what matters most.

    All points draw the same random numbers, so that differences are paired. Finished points are kept: the same command
    goes on after an interruption.
    """
    from scenarios.sweep.run import Where, sweep
    from simtool.console import write_json
    from simtool.progress import progress
    from simtool.show_sweep import show

    flags = (axis or [], method, samples, seeds, objective or [], reference or [])
    request = _request(config, flags)
    where = Where(folder=output_dir, force=force, executor=executor, jobs=jobs, address=address)
    with progress("points", enabled=not no_progress and not quiet) as bar:
        summary = sweep(traces, given, request, where, _teller(bar))
    if json is not None:
        write_json(summary, json)
    if json != "-":
        show(summary, quiet=quiet)
    if not summary.complete:
        done = f"{summary.runs.finished} of {summary.runs.total}"
        typer.echo(f"simtool: interrupted; {done} points are kept in {output_dir}, the same command goes on", err=True)
        sys.exit(EXIT_INTERRUPTED)


def _request(config: str | None, flags: tuple[list[str], str, int | None, str | None, list[str], list[str]]) -> Request:
    from scenarios.options.replay import OptionError
    from scenarios.scenariofile.load import load_scenario
    from scenarios.scenariofile.places import Places
    from scenarios.sweep.definition import Request, merged, reference_of
    from scenarios.sweep.points import Method

    axis, method, samples, seeds, objective, reference = flags
    if method not in list(Method):
        raise OptionError(f"--method is {method!r}; it is one of {', '.join(Method)}")
    scenario = load_scenario(config) if config is not None else None
    own = Request(
        method=Method(method),
        samples=samples,
        seeds=_seeds(seeds),
        objectives=tuple(objective),
        reference=reference_of(reference, "--reference"),
    )
    if scenario is None:
        return merged({}, Places(), own, axis)
    return merged(scenario.sweep, scenario.sweep_places, own, axis)


def _seeds(text: str | None) -> tuple[int, ...]:
    from scenarios.options.replay import OptionError

    try:
        return tuple(int(part) for part in text.split(",")) if text is not None else ()
    except ValueError:
        raise OptionError(f"--seeds {text!r}: give whole numbers with commas between, as 0,1,2") from None


def _teller(bar: Reporter | None) -> Callable[[int, int], None] | None:
    if bar is None:
        return None

    def tell(done: int, total: int) -> None:
        bar.total = total
        bar(done)

    return tell
