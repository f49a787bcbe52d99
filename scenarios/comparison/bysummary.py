"""Compares two results by their summaries only, where one has no table of attempts."""

from __future__ import annotations

from scenarios.answer import Answer
from scenarios.comparison.breakdown import summary_breakdowns
from scenarios.comparison.document import Objective, Pairing
from scenarios.comparison.findings import Asked, Findings, metric_row
from scenarios.comparison.gates import stored_objectives
from scenarios.comparison.metrics import kinds
from scenarios.comparison.totals import same_slos, stored_slos, summary_figures
from scenarios.options.replay import OptionError


def by_summaries(a: Answer, b: Answer, lacking: str, asked: Asked) -> Findings:
    """Totals of both, without intervals. *lacking* names who has no table: A, B or both.

    Raises OptionError for objectives other than those that B was replayed with.
    """
    figures = [summary_figures(answer, asked.percentiles, asked.slos) for answer in (a, b)]
    metrics = [
        metric_row(key, kind, figures[0].get(key), figures[1].get(key), None)
        for key, kind in kinds(asked.percentiles, asked.slos).items()
        if (figures[0].get(key), figures[1].get(key)) != (None, None)
    ]
    return Findings(
        pairing=Pairing.TOTALS,
        reason=f"no table of attempts in {lacking}: totals only, nothing is paired and no difference is judged "
        "(give the folders of simtool replay -o)",
        metrics=metrics,
        breakdowns=summary_breakdowns(a, b),
        objectives=_objectives(a, b, asked),
    )


def _objectives(a: Answer, b: Answer, asked: Asked) -> list[Objective]:
    if not asked.slos:
        return []
    if not same_slos(asked.slos, stored_slos(b)):
        raise OptionError(
            "--goodput needs the requests one by one, unless it repeats the objectives that B was replayed with: "
            "give the folders of simtool replay -o"
        )
    return stored_objectives(a, b, asked.wanted_attainment)
