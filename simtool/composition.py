"""``simtool composition``: do the savings of cache, speculation and resampling multiply?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from scenarios.settings import Settings
from simtool import options as o
from simtool.bind import with_settings

if TYPE_CHECKING:
    from scenarios.composition.run import CompositionAnswer


@with_settings()
def command(
    traces: o.Paths,
    *,
    settings: Settings,
    regression: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=SHARE[:measured]",
            help="Tasks that a lossy lever turns from right to wrong (a gate, quantization); may be repeated.",
            rich_help_panel="Quality",
        ),
    ] = None,
    quality_limit: Annotated[
        float | None, typer.Option(help="Largest regression allowed in total.", rich_help_panel="Quality")
    ] = None,
    json: o.Json = None,
) -> None:
    """C_total of eight combinations of prefix cache, speculation and resampling, three ways.

    By the composition formula from replays with one lever each, by the joint replay, and their residual (rule R3:
    above 15 % the levers do not compose), with what causes it. And what the levers may cost in quality. Resampling is
    as --nu (1.3 where nothing is given) or --gate says.
    """
    from scenarios.composition.quality import parse_lever
    from scenarios.composition.run import composition
    from simtool.console import write_json

    levers = [parse_lever(text) for text in regression or ()]
    answer = composition(traces, settings.read, settings.replay, levers, quality_limit)
    if json is not None:
        write_json(answer, json)
    if json != "-":
        _show(answer)


def _show(answer: CompositionAnswer) -> None:
    from simtool.console import number, percent, stdout_console, table

    console = stdout_console()
    everything = answer.combinations[-1]
    verb = "composes" if answer.r3 == "holds" else "does not compose"
    console.print(
        f"[bold]C_total {verb}: the formula is off by {percent(everything.residual.value, sign=True)} (95 %: "
        f"{percent(everything.residual.low, sign=True)} to {percent(everything.residual.high, sign=True)}) with all "
        f"levers on; R3 {answer.r3} (limit 15 %)[/bold]"
    )
    f = answer.factors
    console.print(
        f"Factors, each from its lever alone: C_pre {number(f.C_pre_s)} s, C_dec {number(f.C_dec_s)} s, h "
        f"{percent(f.h)}, c_hit {number(f.c_hit)}, c_net / c_1 {number(f.c_net_over_c_1)}, nu {number(f.nu)}; draft "
        f"prefill {number(f.C_pre_draft_s)} s" + (f", gate {number(f.C_gate_s)} s a draw" if f.C_gate_s else ""),
        markup=False,
    )
    rows = [
        (
            row.levers,
            number(row.C_total_formula_s),
            number(row.C_total_formula_with_draft_s),
            number(row.C_total_joint_s),
            percent(row.residual.value, sign=True),
            f"{percent(row.residual.low, sign=True)} to {percent(row.residual.high, sign=True)}",
        )
        for row in answer.combinations
    ]
    columns = ["levers on", "formula", "and draft prefill", "joint", "residual", "95 %"]
    console.print()
    console.print(table("C_total, GPU s per accepted turn", columns, rows))
    console.print(f"\nWhere the residual of {everything.levers} comes from:", markup=False)
    for part in everything.parts:
        console.print(f"  {percent(part.share, sign=True)} {part.cause}", markup=False)
    quality = answer.quality
    items = [(item.lever, percent(item.regression), item.assurance.value, item.source) for item in quality.items]
    console.print()
    console.print(table("Quality: tasks made worse", ["lever", "share", "assurance", "source"], items))
    limit = (
        "" if quality.limit is None else f"; limit {percent(quality.limit)}: {'kept' if quality.within else 'broken'}"
    )
    console.print(
        f"  together at most {percent(quality.total)}, of it declared but not measured "
        f"{percent(quality.declared)}{limit}",
        markup=False,
    )
