"""``simtool replay``: is speculation worth it for this recording, how deep, and what does it cost?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from scenarios.options.settings import Settings
from simtool import options as o
from simtool.bind import with_settings

EXIT_SLO_MISSED = 4
"""Exit code of --fail-on-slo."""


@with_settings()
def command(
    traces: o.Paths,
    *,
    settings: Settings,
    fail_on_slo: Annotated[
        bool, typer.Option("--fail-on-slo", help="Exit with 4 if fewer meet all objectives.", rich_help_panel=o.SLO)
    ] = False,
    json: o.Json = None,
    output_dir: Annotated[
        Path | None,
        typer.Option(
            "--output-dir",
            "-o",
            help="Folder for the result files: summary.json, tables, and what simtool report needs.",
            rich_help_panel=o.OUTPUT,
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite results in --output-dir.", rich_help_panel=o.OUTPUT)
    ] = False,
    excerpt: Annotated[
        bool,
        typer.Option(
            "--excerpt/--no-excerpt",
            help="Keep labelled text of a few outputs in --output-dir, for simtool report.",
            rich_help_panel=o.OUTPUT,
        ),
    ] = True,
    timeline: Annotated[
        Path | None,
        typer.Option(
            "--timeline", metavar="FILE", help="Timeline as JSON for ui.perfetto.dev.", rich_help_panel=o.OUTPUT
        ),
    ] = None,
    timeline_events: Annotated[
        int,
        typer.Option(
            "--timeline-events", min=1, help="Slices in it at most; later ones are cut.", rich_help_panel=o.OUTPUT
        ),
    ] = 200_000,
    quiet: o.Quiet = False,
    no_progress: o.NoProgress = False,
) -> None:
    """Replay a recording with and without speculation and give the verdict.

    Speculation on or off, at which depth, what it saves net of the draft's own cost, and what throughput,
    latency and C_total become.
    """
    from scenarios.ask import answer, question
    from scenarios.options.replay import OptionError
    from scenarios.recordings.excerpt import ExcerptPicker
    from scenarios.recordings.loaded import load
    from simtool.console import write_json
    from simtool.progress import progress
    from simtool.show_replay import show

    if fail_on_slo and not settings.replay.measure.goodput:
        raise OptionError("--fail-on-slo needs objectives: give --goodput, for example --goodput ttft:500")
    if output_dir is not None:
        from scenarios.runs.outputs import check_output_dir, write_outputs  # pyarrow, which few runs need

        check_output_dir(output_dir, force=force)
    picker = ExcerptPicker()
    look = picker.observer if excerpt and output_dir is not None else None
    with progress("sessions read", enabled=not no_progress and not quiet) as count:
        asking = question(settings.read, settings.replay)
        loaded = load(traces, asking.reading, progress=count, look=look)
    with progress("requests replayed", enabled=not no_progress and not quiet) as ended:
        asked = answer(asking, loaded, None if ended is None else ended.of)
    if output_dir is not None:
        write_outputs(asked, output_dir, picker.outputs)
    if timeline is not None:
        from scenarios.runs.timeline import write_timeline

        write_timeline(asked, timeline, timeline_events)
    if json is not None:
        write_json(asked.answer, json)
    if json != "-":
        show(asked.answer, quiet=quiet)
    found = asked.answer.replay.goodput
    if fail_on_slo and found is not None and not found.met:
        raise typer.Exit(EXIT_SLO_MISSED)
