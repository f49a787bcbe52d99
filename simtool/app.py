"""The commands, and what an error becomes (exit codes: README)."""

from __future__ import annotations

import sys
from typing import Annotated, Any, cast

import typer
from typer.core import TyperGroup

from simtool.lazycommands import LazyCommands
from simtool.main import interrupted
from traces.errors import SimtoolError

EXIT_BAD_INPUT = 3

_MODULES = {
    "replay": "replay",
    "tag": "tag",
    "report": "report",
    "compare": "compare",
    "law": "law",
    "law-check": "lawcheck",
    "optimize-gamma": "optimize",
    "calibrate": "calibrate",
    "validate": "validate",
    "convert": "convert",
    "schema": "schema",
    "synth": "synth",
    "composition": "composition",
    "sessions": "sessions",
    "spork": "spork",
    "limits": "limits",
    "sweep": "sweep",
    "plan": "plan",
    "whatif-w-s": "whatif",
    "protocol": "protocol",
    "scenarios": "scenarioscmd",
}
"""The commands, in the order in which help lists them, and the modules that have them."""


class _Commands(TyperGroup):
    """The commands; Ctrl-C ends any of them with a line that says so."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = cast("Any", LazyCommands(_MODULES))

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
