"""Tokens per round of the whole output: the law's forms against exact, sampled and measured rounds."""

from __future__ import annotations

from typing import Any

import altair as alt

from scenarios.figures import number, percent
from scenarios.report.marks import data
from scenarios.report.plot import Chart, Column, Drawing, Panel, Plot, Table, Unit
from scenarios.report.subjects import LawTruth

_KIND = {"law": "law", "law, per class": "law", "span limit": "law", "exact": "exact", "sampled": "sampled"}


def _draw(truth: LawTruth) -> Drawing:
    found = [one for one in truth.check.approximations if one.tokens_per_round is not None]
    table = Table(
        (
            Column("name", "reckoned by", Unit.TEXT),
            Column("tokens_per_round", "tokens per round", term="tokens per round"),
            Column("low", "95 % low"),
            Column("high", "95 % high"),
            Column("saving", "decode saving s", Unit.CHANGE, "s"),
            Column("formula", "how", Unit.TEXT),
        ),
        [
            (
                one.name,
                one.tokens_per_round,
                one.interval.low if one.interval else None,
                one.interval.high if one.interval else None,
                one.saving,
                one.formula,
            )
            for one in found
        ],
    )
    rows: list[dict[str, Any]] = [
        {**record, "shown": number(one.tokens_per_round, 4)} for record, one in zip(table.records(), found, strict=True)
    ]
    order = [one.name for one in found]
    base = alt.Chart(data(rows)).encode(alt.Y("name:N", sort=order, title=None, axis=alt.Axis(labelLimit=140)))
    x = alt.X("tokens_per_round:Q", title="tokens per round", scale=alt.Scale(zero=False, padding=30))
    colours = alt.Color(
        "name:N",
        scale=alt.Scale(domain=order, range=[f"var(--{_KIND.get(name, 'measured')})" for name in order]),
        legend=None,
    )
    tooltip = [alt.Tooltip("name:N"), alt.Tooltip("tokens_per_round:Q", format=".4f"), alt.Tooltip("formula:N")]
    layers: list[Any] = []
    if any(one.interval for one in found):
        layers.append(_intervals(base))
    layers += [
        base.mark_point(size=110).encode(x, colours, tooltip=tooltip),
        base.mark_text(dy=-13).encode(x, text="shown:N"),
    ]
    return Drawing(
        panels=(Panel(alt.layer(*layers), height=60 + 42 * len(rows)),),
        finding=_finding(truth),
        table=table,
    )


def _intervals(base: alt.Chart) -> Chart:
    known = base.transform_filter("isValid(datum.low)")
    chart: Chart = known.mark_rule(strokeWidth=2).encode(alt.X("low:Q"), alt.X2("high:Q"))
    return chart


def _finding(truth: LawTruth) -> str:
    known = {one.name: one.tokens_per_round for one in truth.check.approximations}
    law, exact, measured = (known.get(name) for name in ("law", "exact", "measured"))
    parts = []
    if law and exact:
        parts.append(f"The law is {percent(law / exact - 1, sign=True)} off the exact expectation")
    if law and measured:
        parts.append(
            f"{'it is ' if parts else 'The law is '}{percent(law / measured - 1, sign=True)} off what was measured"
        )
    return f"{', and '.join(parts)}." if parts else "Nothing exact is known to hold the law against."


PLOT = Plot(
    name="law-approximations",
    subject=LawTruth,
    section="Tokens per round",
    order=10,
    title="Tokens per round, by each way of reckoning",
    definition=(
        "law: tau + 1 at the mean mismatch of the whole output. law, per class: the class values weighted by their "
        "shares. span limit: what the law tends to where spans are much longer than gamma. exact: expectation over "
        "the labels. sampled: drawn rounds. measured: a drafter run on the recorded tokens. A bar is a 95 % interval."
    ),
    draw=_draw,
)
