"""Saving and tokens per round for each draft depth."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from scenarios.answer import GammaPoint
from scenarios.figures import percent
from scenarios.report.marks import Series, data, line_and_points, percent_axis, predictions, rule
from scenarios.report.plot import Chart, Column, Drawing, NotDrawn, Panel, Plot, Table, Unit
from scenarios.report.subjects import Runs

_NET, _LAW, _EXACT = "net of C_total, exact", "decode, law", "decode, exact"


def _draw(runs: Runs) -> Drawing | NotDrawn:
    answer = runs.main.answer
    points, verdict = answer.gamma_curve, answer.verdict
    if not points or verdict is None:
        return NotDrawn("the run has no speculation (gamma 0)")
    x = alt.X("gamma:Q", title="draft depth gamma", axis=alt.Axis(tickMinStep=1, grid=False, format="d"))
    y = alt.Y("saving:Q", title="saving", axis=percent_axis())
    rows = [
        {"gamma": one.gamma, "by": name, "saving": value}
        for one in points
        for name, value in (
            (_NET, one.net_saving),
            (_EXACT, one.exact_decode_saving),
            (_LAW, one.law_decode_saving),
        )
    ]
    series = Series("by", [_NET, _EXACT, _LAW], ["measured", "exact", "law"])
    bands = [{"gamma": one.gamma, "saving": one.net_saving_low, "high": one.net_saving_high} for one in points]
    band = alt.Chart(data(bands)).mark_area(opacity=0.16, color="var(--measured)").encode(x, y, y2="high:Q")
    tooltip = [alt.Tooltip("by:N"), alt.Tooltip("gamma:Q"), alt.Tooltip("saving:Q", format="+.1%")]
    lines = line_and_points(alt.Chart(data(rows)).encode(x, y), series, tooltip)
    zero = alt.Chart(data([{"saving": 0.0}])).mark_rule(strokeWidth=1.2).encode(y=y)
    saving = alt.layer(band, zero, lines, rule("gamma", verdict.gamma, f"this run: {verdict.gamma}", along=x))
    return Drawing(
        panels=(
            Panel(saving, "Saving (band: spread of acceptance)", 300),
            Panel(_tokens(runs, x), "Tokens per round", 300),
        ),
        finding=_finding(runs),
        table=_table(points),
    )


def _table(points: Sequence[GammaPoint]) -> Table:
    return Table(
        (
            Column("gamma", "gamma", Unit.COUNT, "gamma"),
            Column("law_tokens_per_round", "tokens per round, law", term="tokens per round"),
            Column("exact_tokens_per_round", "exact"),
            Column("law_decode_saving", "decode saving, law", Unit.CHANGE, "s"),
            Column("exact_decode_saving", "exact", Unit.CHANGE),
            Column("net_saving", "net of C_total", Unit.CHANGE, "net saving"),
            Column("net_saving_low", "low end of the spread", Unit.CHANGE, "spread"),
            Column("net_saving_high", "high end", Unit.CHANGE),
        ),
        [
            (
                one.gamma,
                one.law_tokens_per_round,
                one.exact_tokens_per_round,
                one.law_decode_saving,
                one.exact_decode_saving,
                one.net_saving,
                one.net_saving_low,
                one.net_saving_high,
            )
            for one in points
        ],
    )


def _tokens(runs: Runs, x: alt.X) -> Chart:
    rows = [
        {"gamma": one.gamma, "by": name, "tokens": value}
        for one in runs.main.answer.gamma_curve
        for name, value in (("law", one.law_tokens_per_round), ("exact", one.exact_tokens_per_round))
    ]
    y = alt.Y("tokens:Q", title="tokens per round", scale=alt.Scale(zero=False))
    series = predictions("by", ("law", "exact"))
    tooltip = [alt.Tooltip("by:N"), alt.Tooltip("gamma:Q"), alt.Tooltip("tokens:Q", format=".3f")]
    lines = line_and_points(alt.Chart(data(rows)).encode(x, y), series, tooltip)
    gamma = runs.main.answer.replay.gamma
    return alt.layer(lines, rule("gamma", gamma, f"this run: {gamma}", along=x))


def _finding(runs: Runs) -> str:
    verdict = runs.main.answer.verdict
    if verdict is None or not verdict.best_gamma:
        return "No depth of 1 to 16 saves anything on this traffic and platform."
    best = f"gamma {verdict.best_gamma} is best of 1 to 16: {percent(verdict.best_gamma_saving, sign=True)} of C_total"
    if verdict.best_gamma == verdict.gamma:
        return f"{best}; it is the depth that was replayed."
    return f"{best}, against {percent(verdict.spread.value, sign=True)} expected at the replayed gamma {verdict.gamma}."


PLOT = Plot(
    name="gamma-curve",
    subject=Runs,
    section="Does it pay?",
    order=20,
    title="Which depth?",
    definition=(
        "Saving and tokens per round at each draft depth gamma, at the batch and context of the replay without "
        "speculation. Net saving counts prefill and the draft model's own work; decode saving s is of decode alone. "
        "The band runs from the low to the high end of the spread of acceptance."
    ),
    draw=_draw,
)
