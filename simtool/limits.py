"""``simtool limits``: where must speculation stay off for this traffic on this platform?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scenarios.options.settings import Settings
from simtool import options as o
from simtool.bind import with_settings

if TYPE_CHECKING:
    from scenarios.law.limits import Limit


@with_settings()
def command(
    traces: o.Paths,
    *,
    settings: Settings,
    json: o.Json = None,
    no_progress: o.NoProgress = False,
) -> None:
    """Four rules with numbers: schema share on your own spans, precision, round trip to the draft, batch size."""
    from scenarios.law.limits import limits
    from scenarios.setup import set_up
    from simtool.console import write_json
    from simtool.progress import reading, replaying

    with reading(no_progress) as count:
        setup = set_up(traces, settings.read, settings.replay, progress=count, watch=replaying(count))
    found = limits(setup.baseline, setup.platform, settings.replay.platform, setup.choice, setup.gamma)
    if json is not None:
        write_json(found, json)
    if json != "-":
        _show(found)


def _show(found: list[Limit]) -> None:
    from simtool.console import number, stdout_console, table

    console = stdout_console()
    off = [one.rule for one in found if one.stay_off]
    head = f"stay off: {'; '.join(off)}" if off else "no rule says that speculation must stay off here"
    console.print(f"[bold]{head}[/bold]")
    rows = [
        (
            one.rule,
            {True: "off", False: "may be on", None: "does not apply"}[one.stay_off],
            number(one.figure),
            number(one.limit),
            one.unit,
        )
        for one in found
    ]
    console.print()
    console.print(table("", ["rule", "says", "here", "limit", "unit"], rows))
    for one in found:
        console.print(f"  {one.rule}: {one.reason}", markup=False)
