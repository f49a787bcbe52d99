"""The commands, and what an error becomes (exit codes: README)."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from simtool import (
    calibrate,
    compare,
    composition,
    convert,
    law,
    lawcheck,
    limits,
    optimize,
    plan,
    protocol,
    replay,
    report,
    scenarioscmd,
    schema,
    sessions,
    spork,
    sweep,
    synth,
    tag,
    validate,
    whatif,
)
from simtool.main import interrupted
from traces.errors import SimtoolError

EXIT_BAD_INPUT = 3


class _Commands(TyperGroup):
    """The commands; Ctrl-C ends any of them with a line that says so."""

    def make_context(self, *args: Any, **more: Any) -> Any:
        """Read the command line."""
        try:
            return super().make_context(*args, **more)
        except KeyboardInterrupt:
            interrupted()

    def invoke(self, ctx: Any) -> Any:
        """Run the command that is asked for."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            interrupted()


app = typer.Typer(
    name="simtool",
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("replay")(replay.command)
app.command("tag")(tag.command)
app.command("report")(report.command)
app.command("compare")(compare.command)
app.command("law")(law.command)
app.command("law-check")(lawcheck.command)
app.command("optimize-gamma")(optimize.command)
app.command("calibrate")(calibrate.command)
app.command("validate")(validate.command)
app.command("convert")(convert.command)
app.command("schema")(schema.command)
app.command("synth")(synth.command)
app.command("composition")(composition.command)
app.add_typer(protocol.app, name="protocol")
app.add_typer(scenarioscmd.app, name="scenarios")
app.command("sessions")(sessions.command)
app.command("spork")(spork.command)
app.command("limits")(limits.command)
app.command("sweep")(sweep.command)
app.command("plan")(plan.command)
app.command("whatif-w-s")(whatif.command)


def _version(*, value: bool) -> None:
    if value:
        from importlib.metadata import version

        from simulator.config import MODELLED_ENGINE

        typer.echo(f"simtool {version('simtool')} (modelled engine: {MODELLED_ENGINE})")
        raise typer.Exit


@app.callback()
def _main(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=lambda value: _version(value=value), is_eager=True, help="Version.")
    ] = False,
) -> None:
    """Is speculative decoding worth it for your agent traffic, how deep, and what does it cost?

    Reads what your agents really did, labels every output token (tool call, reasoning, prose), replays it on a
    modelled serving engine and prices it.
    """


def run() -> None:
    """Run the command line; errors of the input exit with 3, of the options with 2."""
    try:
        app()
    except SimtoolError as error:
        from traces.safetext import safe_line

        print(f"simtool: {safe_line(str(error))}", file=sys.stderr)  # noqa: T201
        raise SystemExit(EXIT_BAD_INPUT) from None
