"""``simtool scenarios``: the scenarios that come with simtool, and what a scenario file may say."""

from __future__ import annotations

from textwrap import wrap
from typing import Annotated

import typer

from simtool import options as o

app = typer.Typer(no_args_is_help=True, help="Scenario files: those shipped, one in full, and the keys they take.")


@app.command("list")
def list_scenarios() -> None:
    """Name and purpose of each shipped scenario."""
    from scenarios.scenariofile.load import load_scenario, shipped
    from simtool.console import stdout_console

    console = stdout_console()
    found = [load_scenario(name) for name in shipped()]
    width = max(len(one.name) for one in found) + 2
    for one in found:
        lines = wrap(one.about, max(20, console.width - width))
        console.print(f"{one.name:<{width}}" + f"\n{'':<{width}}".join(lines), markup=False)


@app.command("show")
def show(scenario: Annotated[str, typer.Argument(help="Name of a shipped scenario, or the path of a file.")]) -> None:
    """A scenario with all that it extends, as one file."""
    import json

    from scenarios.scenariofile.load import load_scenario
    from scenarios.scenariofile.text import scenario_text, sweep_text

    found = load_scenario(scenario)
    typer.echo(f"name = {json.dumps(found.name)}\nabout = {json.dumps(found.about, ensure_ascii=False)}\n")
    typer.echo(scenario_text(found.values, {}, found.traces) + sweep_text(found.sweep), nl=False)


@app.command("keys")
def keys(
    section: Annotated[str | None, typer.Argument(help="Only this section.")] = None,
    *,
    json: o.Json = None,
) -> None:
    """Every key of a scenario file with its default, its variable and its meaning."""
    from scenarios.options.option import Section
    from scenarios.scenariofile.keys import key_rows
    from simtool.console import stdout_console, write_json

    names = [one.key for one in Section]
    if section is not None and section not in names:
        raise typer.BadParameter(f"{section!r} is no section; give one of {', '.join(names)}")
    rows = [row for row in key_rows() if section in (None, row.section)]
    if json is not None:
        write_json(rows, json)
    if json == "-":
        return
    console = stdout_console()
    for name in dict.fromkeys(row.section for row in rows):
        console.print(f"[{name}]", style="bold", markup=False)
        for row in rows:
            if row.section == name:
                console.print(f"  {row.key} = {row.default}  ({row.values}; {row.variable})", markup=False)
                for line in wrap(row.about, max(20, console.width - 6)):
                    console.print(f"      {line}", markup=False)
