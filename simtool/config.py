"""Where the values of options come from: a scenario file, then SIMTOOL_* variables, then flags."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Annotated, Any

import typer

from scenarios.options.option import ENV_PREFIX, Section

_ORIGINS = {
    "COMMANDLINE": "flag",
    "ENVIRONMENT": "environment",
    "DEFAULT_MAP": "scenario file",
    "DEFAULT": "default",
}
_TRACES = "traces"


def config_parameters(keys: Collection[str]) -> list[inspect.Parameter]:
    """The parameters --config, which gives the options *keys* their defaults, and --print-config."""
    panel = Section.RUN.value
    config = typer.Option(
        "--config",
        metavar="SCENARIO",
        is_eager=True,
        callback=_loader(keys),
        envvar="SIMTOOL_CONFIG",
        show_envvar=False,
        autocompletion=_shipped,
        help="A scenario file, or a shipped scenario's name (simtool scenarios list); SIMTOOL_<KEY> variables go "
        "before it, flags before both.",
        rich_help_panel=panel,
    )
    shown = typer.Option("--print-config", help="Print every option with its value and origin.", rich_help_panel=panel)
    return [
        inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context),
        inspect.Parameter(
            "config", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[str | None, config]
        ),
        inspect.Parameter(
            "print_config", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, shown]
        ),
    ]


def print_config(context: typer.Context, given: Mapping[str, Any], traces: Sequence[str]) -> None:
    """Print *given*, options by key, as a scenario file with the origin of each."""
    from scenarios.scenariofile.text import scenario_text

    typer.echo(scenario_text(given, {key: given_by(context, key) for key in given}, traces), nl=False)


def given_by(context: typer.Context, key: str) -> str:
    """Where the value of the option *key* is from: flag, environment, scenario file or default."""
    source = context.get_parameter_source(key)
    return _ORIGINS.get(source.name, "default") if source is not None else "default"


def own_values(config: str | None, keys: Collection[str]) -> dict[str, Any]:
    """Values of *keys* from the scenario *config*, and from SIMTOOL_* variables over it.

    For keys that a command has no flag of their own for.
    """
    found: dict[str, Any] = {}
    if config is not None:
        from scenarios.scenariofile.load import load_scenario

        found = {key: value for key, value in load_scenario(config).values.items() if key in keys}
    names = {key: f"{ENV_PREFIX}{key.upper()}" for key in keys}
    return found | {key: os.environ[name] for key, name in names.items() if os.environ.get(name)}


def _loader(keys: Collection[str]) -> Callable[[typer.Context, str | None], str | None]:
    def load(context: typer.Context, reference: str | None) -> str | None:
        if reference is None or context.resilient_parsing:
            return reference
        from scenarios.scenariofile.load import load_scenario

        scenario = load_scenario(reference)
        values: dict[str, Any] = {key: value for key, value in scenario.values.items() if key in keys}
        if scenario.traces:
            values[_TRACES] = list(scenario.traces)
        context.default_map = {**(context.default_map or {}), **values}
        return reference

    return load


def _shipped(incomplete: str) -> list[str]:
    from scenarios.scenariofile.load import shipped

    return [name for name in shipped() if name.startswith(incomplete)]
