"""Throughput against latency of several runs, each with and without speculation."""

from __future__ import annotations

from typing import Any

import altair as alt

from scenarios.answer import Answer
from scenarios.report.marks import WITH, WITHOUT, Series, data, line_and_points, speculation
from scenarios.report.plot import Cell, Chart, Column, Drawing, NotDrawn, Panel, Plot, Table, Unit
from scenarios.report.subjects import Runs
from scenarios.runsummary import RunSummary


def _draw(runs: Runs) -> Drawing | NotDrawn:
    if not runs.others:
        return NotDrawn("it compares runs: name several, each replayed at a load of its own")
    rows: list[tuple[Cell, ...]] = []
    for one in runs.all:
        answer = one.answer
        rows.append(_row(one.name, answer, answer.replay, WITH if answer.replay.gamma else WITHOUT))
        if answer.baseline is not None:
            rows.append(_row(one.name, answer, answer.baseline, WITHOUT))
    table = Table(
        (
            Column("run", "run", Unit.TEXT),
            Column("by", "speculation", Unit.TEXT),
            Column("gamma", "gamma", Unit.COUNT, "gamma"),
            Column("trace", "trace", Unit.TEXT, "trace hash"),
            Column("load", "load", Unit.TEXT),
            Column("throughput", "output tokens/s", term="throughput"),
            Column("tpot_s", "TPOT p50", Unit.SECONDS, "TPOT"),
            Column("ttft_s", "TTFT p99", Unit.SECONDS, "TTFT"),
            Column("e2el_s", "E2EL p99", Unit.SECONDS, "E2EL"),
            Column("usd", "USD per 1,000 turns", Unit.USD, "C_total"),
        ),
        rows,
    )
    records = table.records()
    present = [name for name in (WITH, WITHOUT) if any(row["by"] == name for row in records)]
    series = speculation("by", present)
    panels = tuple(
        Panel(_curve(records, column, title, series), title, 300)
        for column, title in (("tpot_s", "TPOT p50, seconds"), ("e2el_s", "E2EL p99, seconds"))
        if any(row[column] is not None for row in records)
    )
    if not panels:
        return NotDrawn("no run has the percentiles p50 or p99 of a latency")
    best = max(records, key=lambda row: float(row["throughput"] or 0))
    finding = f"Most output: {best['run']}, {best['by']}, with {float(best['throughput'] or 0):,.4g} tokens/s."
    return Drawing(panels=panels, finding=finding, table=table)


def _row(name: str, answer: Answer, run: RunSummary, by: str) -> tuple[Cell, ...]:
    return (
        name,
        by,
        run.gamma,
        answer.trace.sha256[:12],
        _load(answer),
        run.output_throughput_tokens_per_s,
        run.tpot_s.get("p50"),
        run.ttft_s.get("p99"),
        run.e2el_s.get("p99"),
        run.cost.C_total_usd * 1e3,
    )


def _load(answer: Answer) -> str:
    keys = ("load", "request_rate", "max_concurrency", "speedup")
    shown = [f"{key} {answer.config[key].value}" for key in keys if key in answer.config]
    return ", ".join(shown).removeprefix("load ")


def _curve(records: list[dict[str, Cell]], column: str, title: str, series: Series) -> Chart:
    before = [None, *(one["run"] for one in records)]
    rows: list[dict[str, Any]] = [
        {**row, "named": row["run"] != last}
        for last, row in zip(before[:-1], records, strict=True)
        if row[column] is not None
    ]
    base = alt.Chart(data(rows)).encode(
        alt.X("throughput:Q", title="output tokens per second", scale=alt.Scale(zero=True)),
        alt.Y(f"{column}:Q", title=title, scale=alt.Scale(zero=True)),
    )
    tooltip = [
        alt.Tooltip("run:N"),
        alt.Tooltip("by:N"),
        alt.Tooltip("load:N"),
        alt.Tooltip("throughput:Q", format=",.4g"),
        alt.Tooltip(f"{column}:Q", format=".4g"),
    ]
    joined = base.encode(alt.Order("throughput:Q"), alt.Detail(["trace:N", "gamma:N"]))
    marks = line_and_points(joined, series, tooltip)
    own = base.transform_filter("datum.named")
    return alt.layer(marks, own.mark_text(align="left", dx=8, dy=-6, limit=120).encode(text="run:N"))


PLOT = Plot(
    name="throughput-latency",
    subject=Runs,
    section="Latency and throughput",
    order=60,
    title="Throughput against latency",
    definition=(
        "One mark a run: output tokens of accepted attempts per second against latency. Down and to the right is "
        "better. Runs of one recording and depth are joined in the order of their throughput."
    ),
    draw=_draw,
)
