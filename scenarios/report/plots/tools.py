"""Tools by what they cost on the GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from scenarios.agents.toolcost import ToolCost
from scenarios.figures import percent
from scenarios.report.marks import Series, data
from scenarios.report.plot import Column, Drawing, NotDrawn, Panel, Plot, Table, Unit
from scenarios.report.subjects import Runs

MOST = 15
_CALL, _RESULT = "writing the calls", "reading the results"


def _draw(runs: Runs) -> Drawing | NotDrawn:
    details = runs.main.details
    if details is None:
        return NotDrawn("it needs details.json of a run's folder (simtool replay TRACE -o DIR)")
    if not details.tools:
        return NotDrawn("the recording names no tools")
    tools = details.tools
    rows: list[dict[str, Any]] = [
        {"tool": one.tool, "by": by, "gpu_s": value, "runs": one.runs}
        for one in tools[:MOST]
        for by, value in ((_CALL, one.call_gpu_s), (_RESULT, one.result_prefill_gpu_s))
    ]
    series = Series("by", [_CALL, _RESULT], ["class-S", "class-R"])
    chart = (
        alt.Chart(data(rows))
        .mark_bar()
        .encode(
            alt.Y("tool:N", sort=[one.tool for one in tools[:MOST]], title=None, axis=alt.Axis(labelLimit=130)),
            alt.X("gpu_s:Q", title="GPU seconds"),
            series.colour(),
            alt.Order("by:N", sort="descending"),
            tooltip=[
                alt.Tooltip("tool:N"),
                alt.Tooltip("by:N"),
                alt.Tooltip("gpu_s:Q", format=",.4g"),
                alt.Tooltip("runs:Q", format=","),
            ],
        )
    )
    total = sum(one.usd for one in tools)
    share = f", {percent(tools[0].usd / total)} of what all tools cost" if total else ""
    more = f" The {MOST} dearest of {len(tools)} are drawn." if len(tools) > MOST else ""
    return Drawing(
        panels=(Panel(chart, height=60 + 26 * min(len(tools), MOST)),),
        finding=f"The dearest is {tools[0].tool}{share}.{more}",
        table=_table(tools),
    )


def _table(tools: Sequence[ToolCost]) -> Table:
    return Table(
        (
            Column("tool", "tool", Unit.TEXT),
            Column("runs", "runs", Unit.COUNT),
            Column("call_tokens", "call tokens", Unit.COUNT),
            Column("call_gpu_s", "writing the calls, GPU", Unit.SECONDS),
            Column("result_prefill_gpu_s", "reading the results, GPU", Unit.SECONDS),
            Column("wait_s", "waiting for it, recorded", Unit.SECONDS),
            Column("usd", "cost", Unit.USD),
        ),
        [
            (
                one.tool,
                one.runs,
                round(one.call_tokens),
                one.call_gpu_s,
                one.result_prefill_gpu_s,
                one.wait_s,
                one.usd,
            )
            for one in tools
        ],
    )


PLOT = Plot(
    name="tools",
    subject=Runs,
    section="Cost",
    order=90,
    title="Tools by cost",
    definition=(
        "GPU seconds behind each tool with speculation: decoding of the calls that the model writes, rejected draws "
        "included, and prefill of the turns that follow its runs, shared evenly by tools that ran side by side. What "
        "the tools themselves cost is not in it."
    ),
    draw=_draw,
)
