"""``simtool report``: one HTML page of a run, and its plots as files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from simtool import options as o

if TYPE_CHECKING:
    from scenarios.report.subjects import Subject

DEFAULT_OUTPUT = Path("report.html")


def command(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...",
            help="Folder of simtool replay -o, or a --json file of replay or law-check; - reads standard input. "
            "The page is about the first; others stand beside it.",
            show_default=False,
        ),
    ],
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The page: report.html, unless --plots is given.",
            rich_help_panel=o.OUTPUT,
            show_default=False,
        ),
    ] = None,
    sweep: Annotated[
        Path | None,
        typer.Option(
            "--sweep",
            metavar="DIR",
            help="Folder of simtool sweep: its points stand in the plot of throughput against latency.",
            rich_help_panel=o.OUTPUT,
        ),
    ] = None,
    excerpt: Annotated[
        bool,
        typer.Option("--excerpt/--no-excerpt", help="With labelled text of the recording.", rich_help_panel=o.OUTPUT),
    ] = True,
    plots: Annotated[
        Path | None,
        typer.Option("--plots", metavar="DIR", help="Also write each plot into this folder.", rich_help_panel=o.OUTPUT),
    ] = None,
    plot_format: Annotated[
        Literal["png", "svg"], typer.Option("--plot-format", help="Of --plots.", rich_help_panel=o.OUTPUT)
    ] = "svg",
    force: Annotated[bool, typer.Option("--force", help="Overwrite files.", rich_help_panel=o.OUTPUT)] = False,
) -> None:
    r"""Write a page about a run: the verdict, what it rests on, plots, tables and their data, in one file.

    The page opens from disk without a network. Needs simtool\[report].
    """
    from scenarios.report.subjects import read_subject, with_sweep

    page = output if output is not None or plots is not None else DEFAULT_OUTPUT
    subject = with_sweep(read_subject(runs), sweep)
    _check_extra()
    from scenarios.options.replay import OptionError

    try:
        _write(subject, page, (plots, plot_format), excerpt=excerpt, force=force)
    except OptionError as error:
        raise typer.BadParameter(str(error)) from None


def _write(subject: Subject, page: Path | None, plots: tuple[Path | None, str], *, excerpt: bool, force: bool) -> None:
    from scenarios.report.export import PlotFormat, write_plots
    from scenarios.report.write import check_page, write_page

    folder, plot_format = plots
    if page is not None:
        check_page(page, force=force)
    if folder is not None:
        files = write_plots(subject, folder, PlotFormat(plot_format), force=force)
        typer.echo(f"{folder}: {len(files)} plots as {plot_format}", err=True)
    if page is not None:
        written = write_page(subject, page, excerpt=excerpt)
        typer.echo(f"{page}: {written.size_bytes / 1e6:.1f} MB, {len(written.drawn)} plots", err=True)
        for title, reason in written.left_out.items():
            typer.echo(f"  not drawn: {title}: {reason}", err=True)


def _check_extra() -> None:
    """Raise SimtoolError unless the packages of the report extra are there."""
    from importlib.util import find_spec

    from traces.errors import SimtoolError

    missing = [package for module, package in _EXTRA.items() if find_spec(module) is None]
    if missing:
        raise SimtoolError(f"a report needs {', '.join(missing)}: pip install 'simtool[report]'")


_EXTRA = {"altair": "altair", "jinja2": "jinja2", "vl_convert": "vl-convert-python"}
"""Module -> package."""
