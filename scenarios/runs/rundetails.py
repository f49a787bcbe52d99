"""What a run's folder holds beside the answer and its tables: what only a report shows."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from scenarios.agents.toolcost import ToolCost, tool_costs
from scenarios.ask import Asked
from scenarios.law.schemacurve import SchemaCurve, schema_curve
from scenarios.recordings.excerpt import ExcerptOutput
from scenarios.runs.runsummary import usd_per_s


class RunDetails(msgspec.Struct, frozen=True, kw_only=True):
    """Figures and text of one run."""

    schema_curve: SchemaCurve | None
    """None without speculation."""
    tools: list[ToolCost]
    excerpt: list[ExcerptOutput]
    """Empty where the recording has no text or none was to be kept."""


def run_details(asked: Asked, excerpt: Sequence[ExcerptOutput]) -> RunDetails:
    """The details of a replay that was asked about, with an *excerpt* of its recording."""
    curve = None
    if asked.baseline is not None:
        curve = schema_curve(asked.workload, asked.replay, asked.baseline, asked.platform, asked.choice)
    usd = usd_per_s(asked.replay, asked.platform)
    return RunDetails(
        schema_curve=curve,
        tools=tool_costs(asked.replay, asked.workload, usd),
        excerpt=list(excerpt),
    )
