"""Parameters of the commands that are no settings (see bind.py), and the panels that --help shows them in."""

from __future__ import annotations

from typing import Annotated

import typer

from scenarios.options.option import Section

RECORDING = Section.TRACE.value
SPECULATION = Section.SPECULATION.value
ENGINE = Section.ENGINE.value
LOAD = Section.WORKLOAD.value
SLO = Section.SLO.value
OUTPUT = Section.RUN.value

Paths = Annotated[
    list[str], typer.Argument(metavar="TRACE...", help="Recordings: files, folders, or - for standard input.")
]
Json = Annotated[
    str | None,
    typer.Option("--json", metavar="FILE", help="JSON to FILE, or - for standard output.", rich_help_panel=OUTPUT),
]
NoProgress = Annotated[bool, typer.Option("--no-progress", help="No progress bar.", rich_help_panel=OUTPUT)]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Only the verdict.", rich_help_panel=OUTPUT)]
