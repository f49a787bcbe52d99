"""``simtool compare``: what is different between two results, is it sure, and where does it come from?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simtool import options as o
from simtool.bind import flag
from simulator.slo import SloMetric

if TYPE_CHECKING:
    from scenarios.comparison.document import Comparison

EXIT_LIMIT_MISSED = 4
"""Exit code of --fail-on-slo and --fail-if-worse."""

_SIDE = "Folder of simtool replay -o, a --json file of it (totals only), or a scenario (file or shipped name) to replay"


def command(
    a: Annotated[str, typer.Argument(metavar="A", help=f"{_SIDE}: the one to start from.", show_default=False)],
    b: Annotated[str, typer.Argument(metavar="B", help="The same: the one that is judged.", show_default=False)],
    *,
    trace: Annotated[
        list[str] | None,
        typer.Option("--trace", help="Recordings for scenarios, in place of their own.", rich_help_panel=o.RECORDING),
    ] = None,
    goodput: Annotated[
        list[str] | None,
        flag(
            "goodput",
            f"Objectives of {', '.join(SloMetric)}, as in ttft:500; default: those that B was replayed with.",
        ),
    ] = None,
    slo_attainment: Annotated[
        float | None, flag("slo_attainment", "Share of requests that must meet them; default: as in B, else 0.99.")
    ] = None,
    fail_on_slo: Annotated[
        bool, typer.Option("--fail-on-slo", help="Exit with 4 if B misses an objective.", rich_help_panel=o.SLO)
    ] = False,
    fail_if_worse: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-if-worse",
            metavar="[METRIC:]PERCENT",
            help="Exit with 4 if B is worse than A by more, as in p99_ttft_ms:5; without a metric: p50 and p99 of "
            "E2EL, p50 of session time, C_total in USD. Metrics are named as in --json.",
            rich_help_panel=o.SLO,
        ),
    ] = None,
    metric_percentiles: Annotated[
        str | None, flag("metric_percentiles", "Default: 50,90,95,99, of which tables show 50 and 99.")
    ] = None,
    confidence_level: Annotated[
        float, typer.Option("--confidence-level", help="Of the intervals.", rich_help_panel=o.OUTPUT)
    ] = 0.95,
    seed: Annotated[
        int | None,
        flag("seed", "Of the resampling, and of scenarios that are replayed; default: 0, and the same for both sides."),
    ] = None,
    json: o.Json = None,
    markdown: Annotated[
        Path | None,
        typer.Option(
            "--markdown", metavar="FILE", help="Markdown for a comment on a change.", rich_help_panel=o.OUTPUT
        ),
    ] = None,
    no_progress: o.NoProgress = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only the headline.", rich_help_panel=o.OUTPUT)] = False,
) -> None:
    """Compare two results or scenarios: each metric with its difference, interval and verdict, and where it is from.

    Runs of one trace are paired by session, turn and attempt. Differences of latency and cost are split into queue,
    prefill, cache, decode, retries and tool waits.
    """
    from scenarios.comparison.compare import DEFAULT_PERCENTILES, CompareOptions, compare
    from scenarios.comparison.source import Replayed, read_sides
    from scenarios.options.replay import OptionError
    from simtool.console import write_json
    from simtool.progress import progress
    from simtool.show_compare import show

    options = CompareOptions(
        goodput=tuple(goodput or ()),
        slo_attainment=slo_attainment,
        fail_if_worse=tuple(fail_if_worse or ()),
        confidence_level=confidence_level,
        seed=seed or 0,
        metric_percentiles=metric_percentiles or DEFAULT_PERCENTILES,
    )
    try:
        with progress("sessions read", enabled=not no_progress and not quiet) as bar:
            sides = read_sides(a, b, Replayed(traces=trace or (), seed=seed, progress=bar))
        found = compare(*sides, options)
        if fail_on_slo and not found.objectives:
            raise OptionError("--fail-on-slo needs objectives: give --goodput, for example --goodput ttft:500")
    except OptionError as error:
        raise typer.BadParameter(str(error)) from None
    every = metric_percentiles is not None
    if json is not None:
        write_json(found, json)
    if markdown is not None:
        _write_markdown(found, markdown, every_percentile=every)
    if json != "-":
        show(found, every_percentile=every, quiet=quiet)
    if any(not one.met for one in found.gates) or (fail_on_slo and any(not one.met for one in found.objectives)):
        raise typer.Exit(EXIT_LIMIT_MISSED)


def _write_markdown(found: Comparison, target: Path, *, every_percentile: bool) -> None:
    from scenarios.comparison.markdown import markdown
    from traces.atomic import whole_file

    with whole_file(target) as partial:
        partial.write_text(markdown(found, every_percentile=every_percentile), encoding="utf-8")
