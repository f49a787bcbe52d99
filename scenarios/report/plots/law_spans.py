"""Tokens per round by the length of the span that a token lies in."""

from __future__ import annotations

from typing import Any

import altair as alt

from scenarios.figures import percent
from scenarios.report.marks import data, line_and_points, predictions
from scenarios.report.plot import Column, Drawing, NotDrawn, Panel, Plot, Table, Unit
from scenarios.report.subjects import LawTruth

_PRESENT = ("law", "exact", "measured")


def _draw(truth: LawTruth) -> Drawing | NotDrawn:
    spans = truth.check.spans
    if not spans:
        return NotDrawn("there are no spans")
    table = Table(
        (
            Column("span", "span length, tokens", Unit.TEXT),
            Column("spans", "spans", Unit.COUNT),
            Column("tokens", "tokens", Unit.COUNT),
            Column("law", "law", term="law"),
            Column("exact", "exact", term="exact"),
            Column("measured", "measured", term="measured"),
        ),
        [
            (
                f"{one.low}-{one.high}" if one.high is not None else f"{one.low} or more",
                one.spans,
                one.tokens,
                one.law_tokens_per_round,
                one.exact_tokens_per_round,
                one.measured_tokens_per_round,
            )
            for one in spans
        ],
    )
    rows: list[dict[str, Any]] = [
        {"span": record["span"], "by": by, "per_round": record[by]}
        for record in table.records()
        for by in _PRESENT
        if record[by] is not None
    ]
    present = [name for name in _PRESENT if any(row["by"] == name for row in rows)]
    series = predictions("by", present)
    order = [str(row[0]) for row in table.rows]
    base = alt.Chart(data(rows)).encode(
        alt.X("span:O", sort=order, title="length of the span, tokens", axis=alt.Axis(labelAngle=-35)),
        alt.Y("per_round:Q", title="tokens per round", scale=alt.Scale(zero=False)),
    )
    tooltip = [alt.Tooltip("span:N"), alt.Tooltip("by:N"), alt.Tooltip("per_round:Q", format=".3f")]
    return Drawing(
        panels=(Panel(line_and_points(base, series, tooltip), height=300),),
        finding=_finding(truth),
        table=table,
    )


def _finding(truth: LawTruth) -> str:
    gaps = [
        (abs(one.law_tokens_per_round / one.exact_tokens_per_round - 1), one)
        for one in truth.check.spans
        if one.exact_tokens_per_round
    ]
    if not gaps:
        return "No range of span lengths has rounds of its own."
    _, worst = max(gaps, key=lambda pair: pair[0])
    gap = worst.law_tokens_per_round / (worst.exact_tokens_per_round or 1) - 1
    upper = f"to {worst.high} tokens" if worst.high is not None else "tokens and more"
    return f"The law is furthest off in spans of {worst.low} {upper}: {percent(gap, sign=True)} of exact."


PLOT = Plot(
    name="law-spans",
    subject=LawTruth,
    section="Tokens per round",
    order=30,
    title="By span length",
    definition=(
        "Tokens in spans of one class of these lengths, over the rounds spent on them. Short spans are where a round "
        "crosses class borders, which the law's single mean does not see."
    ),
    draw=_draw,
)
