"""``simtool tag``: what are the output tokens of this recording made of?"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scenarios.options.settings import Settings
from simtool import options as o
from simtool.bind import with_settings

if TYPE_CHECKING:
    from scenarios.options.read import ReadOptions


class By(StrEnum):
    """What the figures can be split by."""

    SESSION = "session"
    AGENT = "agent"
    TOOL = "tool"


@with_settings(only_reading=True)
def command(
    traces: o.Paths,
    *,
    settings: Settings,
    by: Annotated[
        By | None,
        typer.Option(
            "--by",
            help="Split the figures by session, agent or tool; --json has the sessions with session only.",
            rich_help_panel=o.OUTPUT,
        ),
    ] = None,
    top: Annotated[
        int,
        typer.Option(
            "--top",
            metavar="N",
            min=0,
            help="Rows of a table: the tools, arguments (tool.key) and groups of --by that take most tokens.",
            rich_help_panel=o.OUTPUT,
        ),
    ] = 10,
    show: Annotated[
        str | None,
        typer.Option(
            "--show",
            metavar="SESSION/TURN",
            help="Print one turn's output text coloured by class instead; ids, or numbers from 1 as in 3/7.",
            rich_help_panel=o.OUTPUT,
        ),
    ] = None,
    jobs: Annotated[
        int,
        typer.Option(
            "--jobs",
            "-j",
            metavar="N",
            min=1,
            help="Processes that label. Reading stays with one process for every format, because files of a "
            "recording may depend on each other; the result is the same for any N.",
            rich_help_panel=o.OUTPUT,
        ),
    ] = 1,
    json: o.Json = None,
    parquet: Annotated[
        Path | None,
        typer.Option(
            "--parquet",
            metavar="FILE",
            help="Labels of every output, one row a run of one sub-class.",
            rich_help_panel=o.OUTPUT,
        ),
    ] = None,
    quiet: o.Quiet = False,
    no_progress: o.NoProgress = False,
) -> None:
    """Label every output token of a recording: tool call (S), reasoning (R) or prose (F).

    Shares by class and by sub-class of S (delimiter D, tool name N, key K, typed value V, free string T,
    punctuation P), lengths of the spans, what the grammar forces, and which tools and arguments take most.
    """
    if show is None:
        _count(
            traces, settings.read, by, top=top, jobs=jobs, json=json, parquet=parquet, quiet=quiet, bar=not no_progress
        )
        return
    if json is not None or parquet is not None or by is not None:
        raise typer.BadParameter("--show prints one turn: leave --json, --parquet and --by out")
    from scenarios.tags.tagshow import show_turn
    from simtool.show_turn import print_turn

    print_turn(show_turn(traces, settings.read, show), quiet=quiet)


def _count(
    traces: list[str],
    read: ReadOptions,
    by: By | None,
    *,
    top: int,
    jobs: int,
    json: str | None,
    parquet: Path | None,
    quiet: bool,
    bar: bool,
) -> None:
    from scenarios.tags.tagging import tag_recording
    from simtool.console import write_json
    from simtool.progress import progress
    from simtool.show_tag import print_report

    with progress("sessions labelled", enabled=bar and not quiet) as count:
        report = tag_recording(traces, read, jobs=jobs, by_session=by is By.SESSION, spans=parquet, progress=count)
    if json is not None:
        write_json(report, json)
    if json != "-":
        print_report(report, by=by, top=top, quiet=quiet)
