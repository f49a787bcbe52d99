"""Throughput against latency of several runs, each with and without speculation, or of the points of a sweep."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import altair as alt

from scenarios.answer import Answer
from scenarios.report.marks import WITH, WITHOUT, Series, data, line_and_points, speculation
from scenarios.report.plot import Cell, Chart, Column, Drawing, NotDrawn, Panel, Plot, Table, Unit
from scenarios.report.subjects import Runs
from scenarios.report.swept import SweptPoint, SweptPoints
from scenarios.runs.runsummary import RunSummary

_FEW = 2
"""Marks of a run: with and without speculation."""
_PLACED: dict[str, dict[str, Any]] = {
    "named": {"align": "center", "dy": 16},
    "label": {"align": "right", "dx": -2, "dy": -11},
}
"""Where the names of runs, and of a sweep's points, stand: apart, as both may be of one mark."""


def _draw(runs: Runs) -> Drawing | NotDrawn:
    if not runs.others and runs.sweep is None:
        return NotDrawn("it compares runs: name several, each at a load of its own, or give a sweep's folder (--sweep)")
    rows: list[tuple[Cell, ...]] = []
    for one in runs.all:
        answer = one.answer
        rows.append(_row(one.name, answer, answer.replay, WITH if answer.replay.gamma else WITHOUT))
        if answer.baseline is not None:
            rows.append(_row(one.name, answer, answer.baseline, WITHOUT))
    if runs.sweep is not None:
        rows.extend(_swept(runs.sweep, point) for point in runs.sweep.points)
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


def _swept(sweep: SweptPoints, point: SweptPoint) -> tuple[Cell, ...]:
    found = point.figures
    seconds = [found[name] / 1e3 if name in found else None for name in ("p50_tpot_ms", "p99_ttft_ms", "p99_e2el_ms")]
    return (
        sweep.name,
        WITH if point.gamma else WITHOUT,
        point.gamma,
        sweep.trace_sha256[:12],
        point.name,
        found.get("output_throughput_tokens_per_s"),
        *seconds,
        found.get("C_total_usd_per_1000_turns"),
    )


def _load(answer: Answer) -> str:
    keys = ("load", "request_rate", "max_concurrency", "speedup")
    shown = [f"{key} {answer.config[key].value}" for key in keys if key in answer.config]
    return ", ".join(shown).removeprefix("load ")


def _curve(records: list[dict[str, Cell]], column: str, title: str, series: Series) -> Chart:
    rows: list[dict[str, Any]] = [dict(row) for row in records if None not in (row[column], row["throughput"])]
    for row, name, label in _labels(rows):
        row[name] = label
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
    names = [
        base.transform_filter(f"isValid(datum.{name})").mark_text(limit=120, **placed).encode(text=f"{name}:N")
        for name, placed in _PLACED.items()
        if any(name in row for row in rows)
    ]
    return alt.layer(marks, *names)


def _labels(rows: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], str, str]]:
    """Which marks are named, in which field and how: each run once, of a sweep's points the fastest of each depth."""
    for run in dict.fromkeys(row["run"] for row in rows):
        own = [row for row in rows if row["run"] == run]
        if len(own) <= _FEW:
            yield own[0], "named", str(run)
            continue
        for gamma in dict.fromkeys(row["gamma"] for row in own):
            deep = [row for row in own if row["gamma"] == gamma]
            yield max(deep, key=lambda row: row["throughput"]), "label", f"gamma {gamma}"


PLOT = Plot(
    name="throughput-latency",
    subject=Runs,
    section="Latency and throughput",
    order=60,
    title="Throughput against latency",
    definition=(
        "One mark a run, or a point of a sweep: output tokens of accepted attempts per second against latency. Down "
        "and to the right is better. Those of one recording and depth are joined in the order of their throughput."
    ),
    draw=_draw,
)
