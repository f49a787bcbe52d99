"""Tokens per round by class: law, exact expectation, sampled replay and measurement."""

from __future__ import annotations

from typing import Any

import altair as alt

from scenarios.answer import Answer
from scenarios.figures import number
from scenarios.report.marks import PREDICTIONS, data, predictions
from scenarios.report.plot import Cell, Chart, Column, Drawing, NotDrawn, Panel, Plot, Table, Unit
from scenarios.report.subjects import Runs

_WHOLE = "all"


def _draw(runs: Runs) -> Drawing | NotDrawn:
    answer = runs.main.answer
    whole = next((row for row in answer.comparison if row.quantity == "tokens per round"), None)
    if whole is None:
        return NotDrawn("the run has no speculation (gamma 0)")
    table = _table(answer, known=runs.main.drafter_measured)
    rows: list[dict[str, Any]] = [
        {"class": record["class"], "by": by, "tokens": record[by]}
        for record in table.records()
        for by in PREDICTIONS
        if record[by] is not None
    ]
    classes = [_WHOLE, *(row.label for row in answer.classes if "." not in row.label)]
    present = [name for name in PREDICTIONS if any(row["by"] == name for row in rows)]
    series = predictions("by", present)
    sizes = [("By class", [row for row in rows if row["class"] in classes], classes)]
    finer = [row.label for row in answer.classes if "." in row.label]
    if finer:
        sizes.append(("Within tool calls", [row for row in rows if row["class"] in finer], finer))
    panels = tuple(Panel(_dots(shown, order, series, present), title, 300) for title, shown, order in sizes)
    return Drawing(panels=panels, finding=_finding(answer), table=table)


def _dots(rows: list[dict[str, Any]], order: list[str], series: Any, present: list[str]) -> Chart:
    x = alt.X("class:N", sort=order, title=None, axis=alt.Axis(labelAngle=0, grid=True))
    y = alt.Y("tokens:Q", title="tokens per round", scale=alt.Scale(domainMin=1, nice=True))
    offset = alt.XOffset("by:N", sort=present)
    tooltip = [alt.Tooltip("class:N"), alt.Tooltip("by:N"), alt.Tooltip("tokens:Q", format=".3f")]
    chart: Chart = (
        alt.Chart(data(rows)).mark_point(size=90).encode(x, y, offset, series.colour(), series.shape(), tooltip=tooltip)
    )
    return chart


def _table(answer: Answer, *, known: bool) -> Table:
    whole = next(row for row in answer.comparison if row.quantity == "tokens per round")
    rows: list[tuple[Cell, ...]] = [(_WHOLE, None, None, whole.law, whole.exact, whole.sampled, whole.measured)]
    for one in answer.classes:
        found = one.tokens_per_round_exact
        exact, measured = (None, found) if known else (found, None)
        rows.append((one.label, one.share, one.eps, one.tau_law + 1, exact, one.tokens_per_round_sampled, measured))
    columns = (
        Column("class", "class", Unit.TEXT, "class"),
        Column("share", "share of tokens", Unit.SHARE, "w_S"),
        Column("eps", "mismatch eps", term="eps"),
        Column("law", "law", term="law"),
        Column("exact", "exact", term="exact"),
        Column("sampled", "sampled", term="sampled"),
        Column("measured", "measured", term="measured"),
    )
    return Table(columns, rows)


def _finding(answer: Answer) -> str:
    rows = [row for row in answer.classes if "." not in row.label and row.tokens_per_round_exact is not None]
    if not rows:
        return "No class has rounds of its own."
    best = max(rows, key=lambda row: row.tokens_per_round_exact or 0)
    worst = min(rows, key=lambda row: row.tokens_per_round_exact or 0)
    if best is worst:
        return f"A round in {best.label} emits {number(best.tokens_per_round_exact)} tokens."
    return (
        f"A round emits most in {best.label} ({number(best.tokens_per_round_exact)} tokens) and least in "
        f"{worst.label} ({number(worst.tokens_per_round_exact)})."
    )


PLOT = Plot(
    name="tokens-per-round",
    subject=Runs,
    section="What the drafts gain",
    order=30,
    title="Tokens per round by class",
    definition=(
        "Tokens that one verification pass emits, the target's own included, by the class that it works on. law: "
        "tau + 1 at the class's mean mismatch. exact: expectation over the labelled output. sampled: as replayed. "
        "measured: known from the recorded tokens, for drafters without a model, or reported by the recording."
    ),
    draw=_draw,
)
