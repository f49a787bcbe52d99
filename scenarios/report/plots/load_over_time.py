"""KV cache use, and running and waiting requests, over the replay."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from scenarios.figures import percent
from scenarios.report.marks import Series, data, percent_axis
from scenarios.report.plot import Cell, Chart, Column, Drawing, NotDrawn, Panel, Plot, Table, Unit
from scenarios.report.subjects import Runs
from scenarios.report.theme import RUN_COLOURS

F64 = npt.NDArray[np.float64]
INTERVALS = 240
_GAUGES = ("num_requests_running", "num_requests_waiting", "kv_cache_usage_perc")


def _draw(runs: Runs) -> Drawing | NotDrawn:
    if runs.main.tables is None:
        return NotDrawn("it needs load.parquet of a run's folder (simtool replay TRACE -o DIR)")
    load = runs.main.tables.load
    if not load.num_rows:
        return NotDrawn("nothing ran")
    replica = load["replica"].to_numpy()
    end_s = max(float(load["time_s"].to_numpy().max()), 1e-9)
    edges = np.linspace(0.0, end_s, INTERVALS + 1)
    peaks = {int(one): _peaks(load.filter(pa.array(replica == one)), edges) for one in np.unique(replica)}
    shown = dict(list(peaks.items())[:RUN_COLOURS])
    running, waiting = (np.sum([one[name] for one in peaks.values()], axis=0) for name in _GAUGES[:2])
    rows: list[tuple[Cell, ...]] = [
        (float(edges[k]), float(running[k]), float(waiting[k]), *(float(one[_GAUGES[2]][k]) for one in shown.values()))
        for k in range(INTERVALS)
    ]
    kv_name = {one: "KV use" if len(peaks) == 1 else f"replica {one}" for one in shown}
    table = Table(
        (
            Column("time_s", "from", Unit.SECONDS),
            Column("running", "running at most", Unit.COUNT, "running"),
            Column("waiting", "waiting at most", Unit.COUNT, "waiting"),
            *(Column(f"kv_{one}", f"{name} at most", Unit.SHARE, "KV use") for one, name in kv_name.items()),
        ),
        rows,
    )
    kv = _rows(edges, {kv_name[one]: values[_GAUGES[2]] for one, values in shown.items()})
    queue = _rows(edges, {"running": running, "waiting": waiting})
    colours = [f"run-{number}" for number in range(1, len(shown) + 1)]
    return Drawing(
        panels=(
            Panel(
                _steps(kv, Series("by", list(kv_name.values()), colours), "KV blocks used", percent_axis()), "KV use"
            ),
            Panel(
                _steps(queue, Series("by", ["running", "waiting"], ["with", "sampled"]), "requests", None), "Requests"
            ),
        ),
        finding=_finding(runs, len(peaks) - len(shown)),
        table=table,
    )


def _rows(edges: F64, gauges: dict[str, F64]) -> list[dict[str, Any]]:
    return [
        {"time_s": float(edges[k]), "by": name, "value": float(values[k])}
        for name, values in gauges.items()
        for k in range(INTERVALS)
    ]


def _peaks(load: pa.Table, edges: F64) -> dict[str, F64]:
    """Largest value of each gauge in each interval; a gauge keeps its value until its next row."""
    time_s = load["time_s"].to_numpy()
    first = np.searchsorted(time_s, edges[:-1], side="right") - 1
    inside = np.clip(np.searchsorted(edges, time_s, side="right") - 1, 0, edges.size - 2)
    found = {}
    for name in _GAUGES:
        values = load[name].to_numpy().astype(np.float64)
        peak = np.where(first >= 0, values[np.maximum(first, 0)], 0.0)
        np.maximum.at(peak, inside, values)
        found[name] = peak
    return found


def _steps(rows: list[dict[str, Any]], series: Series, title: str, axis: alt.Axis | None) -> Chart:
    key: dict[str, Any] = {} if len(series) > 1 else {"legend": None}
    y_axis = axis if axis is not None else alt.Axis(tickMinStep=1)
    chart: Chart = (
        alt.Chart(data(rows))
        .mark_line(interpolate="step-after", strokeWidth=1.6)
        .encode(
            alt.X("time_s:Q", title="seconds since the first arrival"),
            alt.Y("value:Q", title=title, axis=y_axis, scale=alt.Scale(zero=True)),
            series.colour(**key),
            series.dash(**key),
            tooltip=[
                alt.Tooltip("by:N"),
                alt.Tooltip("time_s:Q", format=",.4g"),
                alt.Tooltip("value:Q", format=".3g"),
            ],
        )
    )
    return chart


def _finding(runs: Runs, hidden: int) -> str:
    run = runs.main.answer.replay
    more = f" {hidden} further replicas are in load.parquet only." if hidden else ""
    queue = (
        f"at most {run.max_num_requests_waiting:,} requests waited"
        if run.max_num_requests_waiting
        else "no request ever waited"
    )
    return f"The KV cache was {percent(run.max_kv_cache_usage)} full at its peak, and {queue}.{more}"


PLOT = Plot(
    name="load-over-time",
    subject=Runs,
    section="Load",
    order=70,
    title="KV cache and queue over time",
    definition=(
        "Peaks within each of 240 intervals of the replay: share of KV blocks in use, by replica, and requests "
        "running and waiting, all replicas together. A gauge keeps its value until the batch changes."
    ),
    draw=_draw,
)
