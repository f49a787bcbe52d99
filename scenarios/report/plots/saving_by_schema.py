"""Decode saving against the share of schema tokens, with this traffic's point and the break-even."""

from __future__ import annotations

from typing import Any

import altair as alt

from scenarios.answer import Answer
from scenarios.figures import percent
from scenarios.report.marks import Series, data, percent_axis
from scenarios.report.plot import Chart, Column, Drawing, NotDrawn, Panel, Plot, Table, Unit
from scenarios.report.subjects import Runs
from simulator import law

_LAW, _EXACT = "law (mean field)", "exact (own spans)"
_STEPS = 40


def _draw(runs: Runs) -> Drawing | NotDrawn:
    answer, details = runs.main.answer, runs.main.details
    if answer.break_even is None:
        return NotDrawn("the run has no speculation (gamma 0)")
    rows = _law_rows(answer)
    curve = details.schema_curve if details is not None else None
    if curve is not None:
        rows += [{"w_S": one.w_S, "saving": one.decode_saving, "by": _EXACT} for one in curve.points]
    if not rows:
        return NotDrawn("the traffic is of one class only, and without the run's folder its spans are not known")
    here = next((row.exact for row in answer.comparison if row.quantity == "decode saving s"), None)
    present = [name for name in (_LAW, _EXACT) if any(row["by"] == name for row in rows)]
    colours = {_LAW: "law", _EXACT: "exact"}
    series = Series("by", present, [colours[name] for name in present])
    x = alt.X("w_S:Q", title="share of schema tokens w_S", scale=alt.Scale(domain=[0, 1]), axis=percent_axis())
    y = alt.Y("saving:Q", title="decode saving s", axis=percent_axis(), scale=alt.Scale(zero=True))
    tooltip = [alt.Tooltip("by:N"), alt.Tooltip("w_S:Q", format=".1%"), alt.Tooltip("saving:Q", format="+.1%")]
    lines = alt.Chart(data(rows)).mark_line().encode(x, y, series.colour(), series.dash(), tooltip=tooltip)
    zero = alt.Chart(data([{"saving": 0.0}])).mark_rule(strokeWidth=1.2).encode(y=y)
    layers: list[Any] = [zero, lines]
    points = _points(runs, here)
    if points:
        layers.append(_marked(points, x, y))
    return Drawing(
        panels=(Panel(alt.layer(*layers), height=320),),
        finding=_finding(runs, here),
        table=Table(
            (
                Column("by", "curve", Unit.TEXT),
                Column("w_S", "schema share w_S", Unit.SHARE, "w_S"),
                Column("saving", "decode saving s", Unit.CHANGE, "s"),
            ),
            [(row["by"], row["w_S"], row["saving"]) for row in rows],
        ),
    )


def _marked(points: list[dict[str, Any]], x: alt.X, y: alt.Y) -> Chart:
    base = alt.Chart(data(points)).encode(x, y)
    marks = base.mark_point(shape="diamond", size=160, color="var(--ink)").encode(
        tooltip=[alt.Tooltip("mark:N", title=""), alt.Tooltip("w_S:Q", format=".1%")]
    )
    halo = base.mark_text(dy=-18, fontWeight=600, stroke="var(--paper)", strokeWidth=5).encode(text="mark:N")
    return alt.layer(halo, base.mark_text(dy=-18, fontWeight=600).encode(text="mark:N"), marks)


def _law_rows(answer: Answer) -> list[dict[str, Any]]:
    """The law's saving as mass moves between S and the rest, each at its own mean eps."""
    point = answer.break_even
    eps_S = next((row.eps for row in answer.classes if row.label == "S"), None)
    rest = [row for row in answer.classes if row.label in ("R", "F")]
    mass = sum(row.share for row in rest)
    if point is None or eps_S is None or not mass:
        return []
    eps_n = sum(row.eps * row.share for row in rest) / mass
    gamma, o = point.gamma, max(0.0, point.o)
    shares = [step / _STEPS for step in range(_STEPS + 1)]
    return [
        {
            "w_S": w_S,
            "saving": law.saving(w_S * eps_S + (1 - w_S) * eps_n, gamma, point.delta, point.d, o),
            "by": _LAW,
        }
        for w_S in shares
    ]


def _points(runs: Runs, here: float | None) -> list[dict[str, Any]]:
    point, details = runs.main.answer.break_even, runs.main.details
    found = []
    if point is not None and here is not None:
        found.append({"w_S": point.w_S, "saving": here, "mark": "you are here"})
    curve = details.schema_curve if details is not None else None
    if curve is not None and curve.break_even.on_spans is not None:
        found.append({"w_S": curve.break_even.on_spans, "saving": 0.0, "mark": "break-even"})
    return found


def _finding(runs: Runs, here: float | None) -> str:
    point, details = runs.main.answer.break_even, runs.main.details
    stands = f"This traffic stands at w_S {percent(point.w_S if point else None)}"
    if here is not None:
        stands += f" with an expected decode saving of {percent(here, sign=True)}"
    curve = details.schema_curve if details is not None else None
    if curve is None:
        return f"{stands}."
    found = curve.break_even
    if found.on_spans is None:
        return f"{stands}. No share of schema is a break-even: it {found.on_spans_note}."
    return f"{stands}; it breaks even at {percent(found.on_spans)} ({found.on_spans_note})."


PLOT = Plot(
    name="saving-by-schema",
    subject=Runs,
    section="Does it pay?",
    order=10,
    title="Saving against the share of schema tokens",
    definition=(
        "Decode saving s of a round at this run's depth and costs, as the share of tool-call tokens w_S changes. "
        "The law moves mass between S and the rest at the mean mismatch of each; the exact curve stretches this "
        "traffic's own schema spans and computes the expected rounds. Above zero, speculation pays."
    ),
    draw=_draw,
)
