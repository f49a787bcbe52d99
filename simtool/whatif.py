"""``simtool whatif-w-s``: what does moving the schema share of this traffic save?"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from scenarios.options.settings import Settings
from simtool import options as o
from simtool.bind import with_settings

if TYPE_CHECKING:
    from scenarios.law.whatif import Side, WhatIf


@with_settings()
def command(
    traces: o.Paths,
    *,
    w_s_from: Annotated[float, typer.Option("--w-s-from", help="Schema share to start from.", rich_help_panel=o.LOAD)],
    w_s_to: Annotated[float, typer.Option("--w-s-to", help="Schema share to move to.", rich_help_panel=o.LOAD)],
    settings: Settings,
    json: o.Json = None,
    no_progress: o.NoProgress = False,
) -> None:
    """What does moving w_S, the share of schema-constrained tokens, from one value to another save?

    The recording is replayed at both, its own schema spans stretched or shortened alike, with and without speculation.
    """
    from scenarios.ask import question
    from scenarios.law.whatif import what_if
    from scenarios.recordings.loaded import load
    from simtool.console import write_json
    from simtool.progress import reading, replaying

    asked = question(settings.read, settings.replay)
    with reading(no_progress) as count:
        loaded = load(traces, asked.reading, progress=count)
        result = what_if(asked, loaded, w_s_from, w_s_to, replaying(count))
    if json is not None:
        write_json(result, json)
    if json != "-":
        _show(result)


def _said(saving: float) -> str:
    from simtool.console import percent

    return f"saves {percent(saving)}" if saving >= 0 else f"adds {percent(-saving)}"


def _show(result: WhatIf) -> None:
    from simtool.console import number, percent, stdout_console, table
    from traces.safetext import safe

    before, after, saved = result.before, result.after, result.saved

    def signed(value: float) -> str:
        return percent(value, sign=True)

    console = stdout_console()
    console.print(
        f"w_S from {percent(before.w_S)} to {percent(after.w_S)} at gamma {result.gamma}: "
        f"{_said(saved.value)} of C_total (saving 95 % {signed(saved.low)} to {signed(saved.high)}), "
        f"{_said(result.saved_per_output_token)} per output token",
        style="bold",
        markup=False,
    )
    lines: list[tuple[str, Callable[[Side], float | None]]] = [
        ("schema spans, times as recorded", lambda one: one.stretch),
        ("output tokens per turn", lambda one: one.output_tokens_per_turn),
        ("C_pre s per draw", lambda one: one.C_pre_s),
        ("C_dec s per draw", lambda one: one.C_dec_s),
        ("C_total s per turn", lambda one: one.C_total_s),
        ("$ per 1,000 sessions", lambda one: one.usd_per_1000_sessions),
        ("$ per 1M output tokens", lambda one: one.usd_per_million_output_tokens),
        ("E2EL p50 s", lambda one: one.e2el_p50_s),
        ("session p50 s", lambda one: one.session_p50_s),
    ]
    rows = [(name, number(value(before)), number(value(after))) for name, value in lines]
    if before.speculation is not None and after.speculation is not None:
        gains = [signed(one.value) for one in (before.speculation, after.speculation)]
        rows.append(("speculation saves of C_total", gains[0], gains[1]))
    console.print()
    console.print(table("", ["", f"w_S {percent(before.w_S)}", f"w_S {percent(after.w_S)}"], rows))
    console.print(f"  the recording has w_S {percent(result.recorded_w_S)}", markup=False)
    for text in result.notes:
        console.print(f"  {text}", markup=False)
    for assumption, count in result.assumptions.items():
        console.print(f"  {safe(assumption)} ({count:,})", markup=False)
