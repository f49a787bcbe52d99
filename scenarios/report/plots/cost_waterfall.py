"""What an accepted turn costs, built up from prefill, decode and retries."""

from __future__ import annotations

from typing import Any

import altair as alt

from scenarios.figures import number, percent
from scenarios.report.marks import WITH, WITHOUT, data
from scenarios.report.plot import Cell, Chart, Column, Drawing, Panel, Plot, Table, Unit
from scenarios.report.subjects import Runs
from scenarios.runs.runsummary import Cost, RunSummary

_PRE, _DRAFT, _HIT, _DEC, _GATE = "C_pre", "draft prefill", "C_hit", "C_dec", "gate"
_RETRIES, _TOTAL = "retries", "C_total"
_COLOURS = {
    _PRE: "class-F",
    _DRAFT: "law",
    _HIT: "muted",
    _DEC: "class-S",
    _GATE: "law",
    _RETRIES: "class-R",
    _TOTAL: "ink",
}


def parts(cost: Cost) -> list[tuple[str, float]]:
    """GPU seconds of one draw by what they are spent on, and what further draws add; they sum to C_total."""
    one_draw = [(_PRE, cost.C_pre_s), (_DRAFT, cost.C_pre_draft_s), (_HIT, cost.C_hit_s), (_DEC, cost.C_dec_s)]
    one_draw.append((_GATE, cost.C_gate_s))
    draw_s = sum(value for _, value in one_draw)
    return [*one_draw, (_RETRIES, (cost.nu - 1) * draw_s)]


def _draw(runs: Runs) -> Drawing:
    answer = runs.main.answer
    found: list[tuple[str, RunSummary]] = [(WITH if answer.replay.gamma else WITHOUT, answer.replay)]
    if answer.baseline is not None:
        found.append((WITHOUT, answer.baseline))
    present = [name for name, _ in parts(answer.replay.cost) if any(dict(parts(run.cost))[name] for _, run in found)]
    rows: list[tuple[Cell, ...]] = []
    for by, run in found:
        usd = run.cost.C_total_usd / run.cost.C_total_s if run.cost.C_total_s else 0.0
        start = 0.0
        for name, value in parts(run.cost):
            if name not in present:
                continue
            rows.append((by, name, start, start + value, value, value * usd * 1e3))
            start += value
        rows.append((by, _TOTAL, 0.0, run.cost.C_total_s, run.cost.C_total_s, run.cost.C_total_usd * 1e3))
    table = Table(
        (
            Column("by", "speculation", Unit.TEXT),
            Column("part", "part", Unit.TEXT, "C_total"),
            Column("from_s", "from", Unit.SECONDS),
            Column("to_s", "to", Unit.SECONDS),
            Column("gpu_s", "GPU seconds per accepted turn", Unit.SECONDS),
            Column("usd", "USD per 1,000 accepted turns", Unit.USD),
        ),
        rows,
    )
    records = table.records()
    top = max(float(row["to_s"] or 0) for row in records)
    panels = tuple(
        Panel(_bars([row for row in records if row["by"] == by], top), by[0].upper() + by[1:], 300) for by, _ in found
    )
    return Drawing(panels=panels, finding=_finding(runs), table=table)


def _bars(rows: list[dict[str, Any]], top: float) -> Chart:
    order = [row["part"] for row in rows]
    scale = alt.Scale(domain=order, range=[f"var(--{_COLOURS[name]})" for name in order])
    shown = [{**row, "shown": number(row["gpu_s"])} for row in rows]
    base = alt.Chart(data(shown)).encode(alt.X("part:N", sort=order, title=None, axis=alt.Axis(labelAngle=0)))
    y = alt.Y("from_s:Q", title="GPU seconds per accepted turn", scale=alt.Scale(domain=[0, top * 1.1 or 1]))
    bars = base.mark_bar(size=34).encode(
        y,
        alt.Y2("to_s:Q"),
        alt.Color("part:N", scale=scale, legend=None),
        tooltip=[
            alt.Tooltip("part:N"),
            alt.Tooltip("gpu_s:Q", format=".4g", title="GPU s"),
            alt.Tooltip("usd:Q", format=".4g", title="USD per 1,000"),
        ],
    )
    return alt.layer(bars, base.mark_text(dy=-8).encode(alt.Y("to_s:Q"), text="shown:N"))


def _finding(runs: Runs) -> str:
    cost = runs.main.answer.replay.cost
    share = max(parts(cost), key=lambda part: part[1])
    most = f"{share[0]} is {percent(share[1] / cost.C_total_s)} of it" if cost.C_total_s else "it is nothing"
    text = f"An accepted turn costs {number(cost.C_total_s)} GPU seconds; {most}."
    if cost.nu > 1:
        text += f" Each takes {number(cost.nu)} draws."
    return text


PLOT = Plot(
    name="cost-waterfall",
    subject=Runs,
    section="Cost",
    order=80,
    title="What an accepted turn costs",
    definition=(
        "GPU seconds attributed to an accepted turn: target prefill C_pre, the draft model's prefill, loading from "
        "host memory C_hit, decode C_dec and a gate's verdict of one draw, then what further draws of the turn add, "
        "(nu - 1) times their sum. The parts add up to C_total."
    ),
    draw=_draw,
)
