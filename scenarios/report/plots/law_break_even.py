"""The schema share at which speculation breaks even, by each way of reckoning, and where the traffic stands."""

from __future__ import annotations

import altair as alt

from scenarios.figures import percent
from scenarios.report.marks import data, percent_axis
from scenarios.report.plot import Cell, Column, Drawing, Panel, Plot, Table, Unit
from scenarios.report.subjects import LawTruth

_TRAFFIC = "w_S of this traffic"


def _draw(truth: LawTruth) -> Drawing:
    point = truth.check.break_even
    rows: list[tuple[Cell, ...]] = [
        (_TRAFFIC, point.w_S, ""),
        ("w_S*, first order", point.first_order, point.first_order_reading),
        ("w_S*, exact root", point.exact, point.exact_reading),
        ("w_S*, on the real spans", point.on_spans, point.on_spans_note),
    ]
    table = Table(
        (
            Column("by", "reckoned by", Unit.TEXT),
            Column("w_S", "share of schema", Unit.SHARE, "w_S*"),
            Column("reading", "reading", Unit.TEXT),
        ),
        rows,
    )
    order = [str(row[0]) for row in rows]
    shown = [
        {**record, "kind": "traffic" if record["by"] == _TRAFFIC else "break-even"}
        for record in table.records()
        if record["w_S"] is not None and 0 <= float(record["w_S"]) <= 1
    ]
    outside = [row for row in rows[1:] if row[1] is None or not 0 <= float(row[1]) <= 1]
    y = alt.Y("by:N", sort=order, title=None, scale=alt.Scale(domain=order), axis=alt.Axis(labelLimit=170))
    x = alt.X("w_S:Q", title="share of schema tokens w_S", scale=alt.Scale(domain=[0, 1]), axis=percent_axis())
    kinds = ["traffic", "break-even"]
    points = (
        alt.Chart(data(shown))
        .mark_point(size=140)
        .encode(
            x,
            y,
            alt.Shape("kind:N", scale=alt.Scale(domain=kinds, range=["diamond", "circle"])),
            alt.Color("kind:N", scale=alt.Scale(domain=kinds, range=["var(--ink)", "var(--exact)"])),
            tooltip=[alt.Tooltip("by:N"), alt.Tooltip("w_S:Q", format=".1%"), alt.Tooltip("reading:N")],
        )
    )
    texts = [{"by": row[0], "w_S": 0.5, "reading": "no share within 0 and 100 %"} for row in outside]
    notes = alt.Chart(data(texts)).mark_text(color="var(--muted)").encode(x, y, text="reading:N")
    return Drawing(
        panels=(Panel(alt.layer(points, notes), height=230),),
        finding=(
            f"This traffic has w_S {percent(point.w_S)}. By the first order speculation {point.first_order_reading}; "
            f"by the exact root it {point.exact_reading}; on the real spans: {point.on_spans_note}."
        ),
        table=table,
    )


PLOT = Plot(
    name="law-break-even",
    subject=LawTruth,
    section="Break-even",
    order=40,
    title="Schema share at which speculation breaks even",
    definition=(
        "First order: the law's closed form w_S*. Exact root: where tau equals o + gamma (delta + d). On the real "
        "spans: this traffic's schema spans stretched alike, all others kept, until the exact saving is zero."
    ),
    draw=_draw,
)
