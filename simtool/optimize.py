"""``simtool optimize-gamma``: the draft depth that saves most on a recording, fixed, by class and by batch size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from scenarios.options.settings import Settings
from simtool import options as o
from simtool.bind import with_settings

if TYPE_CHECKING:
    from scenarios.law.optimize import Optimum


@with_settings(without=("gamma",))
def command(
    traces: o.Paths,
    *,
    settings: Settings,
    max_gamma: Annotated[
        int, typer.Option(min=1, max=64, help="Deepest depth tried.", rich_help_panel=o.SPECULATION)
    ] = 16,
    json: o.Json = None,
    no_progress: o.NoProgress = False,
) -> None:
    """Find the draft depth that saves most: one for all, one per class, one per batch size.

    Candidates are ranked by expectation over the labelled outputs; the best are then replayed, paired with the replay
    without speculation.
    """
    from scenarios.law.optimize import optimize
    from scenarios.options.settings import with_gamma
    from scenarios.setup import set_up
    from simtool.console import write_json
    from simtool.progress import reading, replaying

    with reading(no_progress) as count:
        deepest = with_gamma(settings.replay, str(max_gamma))
        setup = set_up(traces, settings.read, deepest, progress=count, watch=replaying(count))
        result = optimize(setup, replaying(count))
    if json is not None:
        write_json(result, json)
    if json != "-":
        _show(result)


def _show(result: Optimum) -> None:
    from simtool.console import number, percent, stdout_console, table

    console = stdout_console()
    console.print(f"[bold]{result.advice}[/bold]")
    rows = [
        (
            one.name,
            one.option,
            percent(one.expected_net_saving, sign=True),
            percent(one.replayed.value, sign=True),
            f"{percent(one.replayed.low, sign=True)} to {percent(one.replayed.high, sign=True)}",
        )
        for one in result.candidates
    ]
    console.print()
    console.print(table("Net saving of C_total", ["", "setting", "expected", "replayed", "95 %"], rows))
    sizes = [
        (str(one.batch_size), str(one.gamma), number(one.tokens_per_round), percent(one.decode_saving, sign=True))
        for one in result.by_batch_size
    ]
    console.print()
    console.print(table("Best fixed depth by batch size", ["sequences", "gamma", "tok/round", "decode saving"], sizes))
    for text in result.notes:
        console.print(f"  {text}", markup=False)
