"""Tokens per round by class: the law against exact and measured rounds."""

from __future__ import annotations

from typing import Any

import altair as alt

from scenarios.report.marks import data, predictions
from scenarios.report.plot import Column, Drawing, Panel, Plot, Table, Unit
from scenarios.report.subjects import LawTruth

_PRESENT = ("law", "exact", "measured")


def _draw(truth: LawTruth) -> Drawing:
    table = _table(truth)
    rows: list[dict[str, Any]] = [
        {"class": record["class"], "by": by, "tokens": record[by]}
        for record in table.records()
        for by in _PRESENT
        if record[by] is not None
    ]
    present = [name for name in _PRESENT if any(row["by"] == name for row in rows)]
    series = predictions("by", present)
    order = [one.label for one in truth.check.classes]
    chart = (
        alt.Chart(data(rows))
        .mark_point(size=100)
        .encode(
            alt.X("class:N", sort=order, title=None, axis=alt.Axis(labelAngle=0, grid=True)),
            alt.Y("tokens:Q", title="tokens per round", scale=alt.Scale(domainMin=1, nice=True)),
            alt.XOffset("by:N", sort=present),
            series.colour(),
            series.shape(),
            tooltip=[alt.Tooltip("class:N"), alt.Tooltip("by:N"), alt.Tooltip("tokens:Q", format=".3f")],
        )
    )
    rulings = "; ".join(f"{one.name} {one.ruling} ({one.reason})" for one in truth.check.predictions)
    return Drawing(panels=(Panel(chart, height=300),), finding=f"{rulings}.", table=table)


def _table(truth: LawTruth) -> Table:
    return Table(
        (
            Column("class", "class", Unit.TEXT, "class"),
            Column("share", "share of tokens", Unit.SHARE),
            Column("eps", "mismatch eps", term="eps"),
            Column("tau_law", "tau, law", term="tau"),
            Column("tau_exact", "tau, exact"),
            Column("tau_measured", "tau, measured"),
            Column("law", "tokens per round, law", term="tokens per round"),
            Column("exact", "exact", term="exact"),
            Column("measured", "measured", term="measured"),
        ),
        [
            (
                one.label,
                one.share,
                one.eps,
                one.tau_law,
                one.tau_exact,
                one.tau_measured,
                one.tau_law + 1,
                one.tokens_per_round_exact,
                one.tokens_per_round_measured,
            )
            for one in truth.check.classes
        ],
    )


PLOT = Plot(
    name="law-classes",
    subject=LawTruth,
    section="Tokens per round",
    order=20,
    title="By class",
    definition=(
        "law: tau + 1 at the class's mean mismatch. exact and measured: the class's tokens over the rounds spent on "
        "them. P1 expects tau_S > tau_R > tau_F with tau_S / tau_F > 1.5; R1 rejects the law if tau_S <= tau_F; R2 "
        "rejects the break-even if the saving is negative at w_S of 0.6 or more."
    ),
    draw=_draw,
)
