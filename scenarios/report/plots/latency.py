"""Distributions of TTFT, TPOT and E2EL, with and without speculation."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from scenarios.figures import percent
from scenarios.report.marks import WITH, WITHOUT, data, percent_axis, speculation
from scenarios.report.plot import Cell, Chart, Column, Drawing, NotDrawn, Panel, Plot, Table, Unit
from scenarios.report.subjects import Runs

METRICS = (("TTFT", "ttft_s"), ("TPOT", "tpot_s"), ("E2EL", "e2el_s"))
_SHARES = np.array([0, *np.arange(1, 100), 99.5, 99.9, 100]) / 100


def _draw(runs: Runs) -> Drawing | NotDrawn:
    tables = runs.main.tables
    if tables is None:
        return NotDrawn("it needs turns.parquet of a run's folder (simtool replay TRACE -o DIR)")
    found = {}
    if runs.main.answer.replay.gamma:
        found[WITH] = tables.turns
        if tables.baseline_turns is not None:
            found[WITHOUT] = tables.baseline_turns
    else:
        found[WITHOUT] = tables.turns
    panels, rows = [], []
    series = speculation("by", list(found))
    for title, column in METRICS:
        known = {name: _measured(table, column) for name, table in found.items()}
        if not any(values.size for values in known.values()):
            continue
        curves = {name: np.quantile(values, _SHARES) for name, values in known.items() if values.size}
        panels.append(Panel(_cdf(title, curves, series), f"{title} (s)", 250))
        for k, share in enumerate(_SHARES):
            cells: list[Cell] = [title, float(share)]
            cells += [float(curves[name][k]) if name in curves else None for name in found]
            rows.append(tuple(cells))
    if not panels:
        return NotDrawn("no request of the run has a latency")
    columns = [Column("metric", "metric", Unit.TEXT, "TTFT"), Column("share", "share of requests", Unit.SHARE)]
    columns += [Column(name.replace(" ", "_"), f"{name}, at most", Unit.SECONDS) for name in found]
    return Drawing(panels=tuple(panels), finding=_finding(runs), table=Table(tuple(columns), rows))


def _measured(table: pa.Table, column: str) -> npt.NDArray[np.float64]:
    values = pc.filter(table[column], table["measured"]) if "measured" in table.column_names else table[column]
    return np.asarray(pc.drop_null(values).to_numpy(), dtype=np.float64)


def _cdf(title: str, curves: dict[str, npt.NDArray[np.float64]], series: Any) -> Chart:
    rows: list[dict[str, Any]] = [
        {"by": name, "seconds": float(value), "share": float(share)}
        for name, values in curves.items()
        for value, share in zip(values, _SHARES, strict=True)
    ]
    largest = max(float(values[-1]) for values in curves.values())
    smallest = min(float(values[values > 0].min(initial=largest)) for values in curves.values())
    wide = smallest > 0 and largest / smallest > 100
    scale = alt.Scale(type="log", nice=False) if wide else alt.Scale(zero=True)
    rows = [row for row in rows if row["seconds"] > 0 or not wide]
    axis = alt.Axis(format=".3~g") if wide else alt.Axis()
    chart: Chart = (
        alt.Chart(data(rows))
        .mark_line()
        .encode(
            alt.X("seconds:Q", title=f"{title}, seconds" + (" (log)" if wide else ""), scale=scale, axis=axis),
            alt.Y("share:Q", title="share of requests", axis=percent_axis()),
            series.colour(),
            series.dash(),
            alt.Order("share:Q"),
            tooltip=[
                alt.Tooltip("by:N"),
                alt.Tooltip("share:Q", format=".1%"),
                alt.Tooltip("seconds:Q", format=".4g"),
            ],
        )
    )
    return chart


def _finding(runs: Runs) -> str:
    ours, theirs = runs.main.answer.replay, runs.main.answer.baseline
    if theirs is None:
        return "There is no replay to compare with: this one has no speculation."
    parts = []
    for title, column in METRICS:
        own, base = getattr(ours, column), getattr(theirs, column)
        mark = next(name for name in own if name.startswith("p"))
        if own[mark] is not None and base[mark]:
            parts.append(f"{title} {mark} {percent(own[mark] / base[mark] - 1, sign=True)}")
    return f"With speculation against without: {', '.join(parts)}." if parts else "No latency is defined in both."


PLOT = Plot(
    name="latency",
    subject=Runs,
    section="Latency and throughput",
    order=50,
    title="Latency distributions",
    definition=(
        "Share of measured requests that take at most this long. TTFT: first token after arrival, queue included. "
        "TPOT: mean time of a further token. E2EL: last token after arrival. Warm-up and drain are left out."
    ),
    draw=_draw,
)
