"""``simtool composition``: do the savings of cache, speculation and resampling multiply?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scenarios.options.settings import Settings
from simtool import options as o
from simtool.bind import with_settings

if TYPE_CHECKING:
    from scenarios.composition.run import CompositionAnswer


@with_settings()
def command(
    traces: o.Paths,
    *,
    settings: Settings,
    json: o.Json = None,
    no_progress: o.NoProgress = False,
) -> None:
    """C_total of eight combinations of prefix cache, speculation and resampling, three ways.

    By the composition formula from replays with one lever each, by the joint replay, and their residual (rule R3:
    above 15 % the levers do not compose), with what causes it. And what the levers may cost in quality. Resampling is
    as --nu (1.3 where nothing is given) or --gate says.
    """
    from scenarios.composition.run import composition
    from simtool.console import write_json
    from simtool.progress import reading, replaying

    with reading(no_progress) as count:
        answer = composition(traces, settings.read, settings.replay, count, replaying(count))
    if json is not None:
        write_json(answer, json)
    if json != "-":
        _show(answer)


def _show(answer: CompositionAnswer) -> None:
    import msgspec

    from scenarios.agents.quality import told
    from simtool.console import number, percent, stdout_console, table

    console = stdout_console()
    everything = answer.combinations[-1]
    verb = {"holds": "composes", "rejected": "does not compose"}.get(answer.r3, "may or may not compose")
    off, low, high = (percent(value, sign=True) for value in msgspec.structs.astuple(everything.residual))
    console.print(
        f"[bold]C_total {verb}: with all levers on the formula is off by {off} (95 %: {low} to {high}); R3 "
        f"{answer.r3} (limit 15 % either way)[/bold]"
    )
    f = answer.factors
    console.print(
        f"Factors, each from its lever alone: C_pre {number(f.C_pre_s)} s, C_dec {number(f.C_dec_s)} s, h "
        f"{percent(f.h)}, c_hit {number(f.c_hit)}, c_net / c_1 {number(f.c_net_over_c_1)}, nu {number(f.nu)}; draft "
        f"prefill {number(f.C_pre_draft_s)} s" + (f", gate {number(f.C_gate_s)} s a draw" if f.C_gate_s else ""),
        markup=False,
    )
    nu = answer.config["nu"]
    value = number(nu.value) if isinstance(nu.value, float) else nu.value
    console.print(
        f"Resampling is declared as nu {value} ({nu.source}); the factor nu is what the replay drew", markup=False
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
    console.print(f"  {told(quality)}", markup=False)
