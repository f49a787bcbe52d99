"""Accepted drafts by their position in the round."""

from __future__ import annotations

import altair as alt

from scenarios.figures import percent
from scenarios.report.marks import data, percent_axis
from scenarios.report.plot import Column, Drawing, NotDrawn, Panel, Plot, Table, Unit
from scenarios.report.subjects import Runs


def _draw(runs: Runs) -> Drawing | NotDrawn:
    counters = runs.main.answer.replay.speculation
    if counters is None:
        return NotDrawn("the run has no speculation (gamma 0)")
    if not counters.num_drafts:
        return NotDrawn("nothing was drafted")
    table = Table(
        (
            Column("position", "position in the draft", Unit.COUNT),
            Column("accepted", "drafts accepted up to it", Unit.COUNT),
            Column("share", "share of drafts", Unit.SHARE),
        ),
        [
            (number, accepted, accepted / counters.num_drafts)
            for number, accepted in enumerate(counters.num_accepted_tokens_per_pos, start=1)
        ],
    )
    chart = (
        alt.Chart(data(table.records()))
        .mark_bar(color="var(--with)")
        .encode(
            alt.X("position:O", title="position in the draft", axis=alt.Axis(labelAngle=0)),
            alt.Y("share:Q", title="accepted share of drafts", axis=percent_axis(), scale=alt.Scale(domain=[0, 1])),
            tooltip=[
                alt.Tooltip("position:O"),
                alt.Tooltip("share:Q", format=".1%"),
                alt.Tooltip("accepted:Q", format=","),
            ],
        )
    )
    return Drawing(
        panels=(Panel(chart, height=240),),
        finding=(
            f"{percent(counters.draft_acceptance_rate)} of all drafted tokens were accepted; the first of a draft in "
            f"{percent(counters.num_accepted_tokens_per_pos[0] / counters.num_drafts)} of drafts."
        ),
        table=table,
    )


PLOT = Plot(
    name="acceptance-by-position",
    subject=Runs,
    section="What the drafts gain",
    order=40,
    title="Acceptance by position",
    definition=(
        "Share of drafts whose tokens were accepted up to and including this position, over all classes: vLLM's "
        "num_accepted_tokens_per_pos over num_drafts."
    ),
    draw=_draw,
)
