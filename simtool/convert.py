"""``simtool convert``: recordings to the canonical form, or to another tool's."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from scenarios.options.settings import Settings
from simtool import options as o
from simtool.bind import with_settings
from traces.choice import not_one_of


@with_settings(only_reading=True)
def command(
    traces: Annotated[
        list[str], typer.Argument(metavar="TRACE... OUT", help="Recordings to read, then the file to write.")
    ],
    *,
    settings: Settings,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            help="simtool (canonical: .jsonl, .jsonl.gz, .jsonl.zst or .parquet), mooncake, agentic-mooncake or "
            "openai-chat.",
            rich_help_panel=o.OUTPUT,
        ),
    ] = "simtool",
    anonymize: Annotated[
        bool,
        typer.Option(
            "--anonymize",
            help="Leave out all text and names: lengths, classes, times and shared prefixes stay. Outputs are labelled "
            "for --tokenizer and --tool-call-format.",
            rich_help_panel=o.OUTPUT,
        ),
    ] = False,
    keep_tool_names: Annotated[
        bool,
        typer.Option("--keep-tool-names", help="With --anonymize: keep the tools' names.", rich_help_panel=o.OUTPUT),
    ] = False,
    anonymize_salt: Annotated[
        str | None,
        typer.Option(
            "--anonymize-salt",
            metavar="TEXT",
            help="With --anonymize: what ids are hashed with, by default the hash of the files. Empty: none, so that a "
            "replay draws the same as of the original, and whoever guesses an id can confirm it.",
            rich_help_panel=o.OUTPUT,
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite OUT.", rich_help_panel=o.OUTPUT)] = False,
    no_progress: o.NoProgress = False,
) -> None:
    """Write recordings as one canonical trace, which replays the same, or in another tool's format."""
    from scenarios.recordings.convert import CANONICAL, convert, convert_anonymized, targets
    from simtool.console import stderr_console
    from simtool.progress import progress

    if len(traces) < 2:
        raise typer.BadParameter("give at least one recording to read and the file to write")
    if to not in targets():
        raise typer.BadParameter(f"--to {not_one_of(to, targets())}")
    *sources, out = traces
    if Path(out).exists() and not force:
        raise typer.BadParameter(f"{out} exists: add --force to overwrite it")
    if keep_tool_names and not anonymize:
        raise typer.BadParameter("--keep-tool-names goes with --anonymize")
    if anonymize_salt is not None and not anonymize:
        raise typer.BadParameter("--anonymize-salt goes with --anonymize")
    if anonymize and to != CANONICAL:
        raise typer.BadParameter(f"--anonymize writes a canonical trace: convert that to {to} in a second step")
    with progress("sessions read", enabled=not no_progress) as count:
        if anonymize:
            written, log = convert_anonymized(
                sources,
                Path(out),
                settings.read,
                keep_tool_names=keep_tool_names,
                salt=anonymize_salt,
                progress=count,
            )
        else:
            written, log = convert(sources, Path(out), to=to, options=settings.read, progress=count)
    unit = "sessions" if to == CANONICAL else "rows"
    typer.echo(f"{written:,} {unit} written to {out}")
    console = stderr_console()
    for title, counts in (("left out", log.omitted), ("duplicate", log.duplicates), ("assumed", log.assumptions)):
        for text, number in counts.items():
            console.print(f"{title}: {text} ({number:,})", markup=False)
