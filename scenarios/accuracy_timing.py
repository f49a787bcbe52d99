"""How well the roofline predicts published timings: fitted on one half of them, judged on the other.

``python -m scenarios.accuracy_timing FILE.json [--output docs/accuracy-timing.md]`` writes the table.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scenarios.published.publishedcases import PublishedCase, read_cases
from scenarios.published.timing_cases import PREDICTORS, Figure
from scenarios.published.timing_reasons import NOT_PREDICTED, reason_of
from simulator.cost import efficiency_of
from simulator.hardware import GpuFamily

GOALS = {"tpot": 0.10, "throughput": 0.10, "ratio": 0.10, "ttft": 0.20}
"""Largest relative error that meets the goal, by kind of figure."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A figure with the part that it played."""

    case: str
    part: str
    """fitted, judged, or assumed: the source leaves GPU, model or load open."""
    figure: Figure
    assumed: str

    @property
    def met(self) -> bool:
        """Whether the error is within the goal of its kind."""
        return abs(self.figure.error) <= GOALS[self.figure.kind]


def halves(cases: Sequence[PublishedCase]) -> tuple[list[PublishedCase], list[PublishedCase]]:
    """The clean cases on Hopper GPUs, in the file's order: every second one to fit, the others to judge."""
    clean = [
        case
        for case in cases
        if case.id in PREDICTORS and PREDICTORS[case.id].clean and PREDICTORS[case.id].family is GpuFamily.HOPPER
    ]
    return clean[::2], clean[1::2]


def judge(cases: Sequence[PublishedCase]) -> list[Judged]:
    """Every predicted figure of *cases*, in their order."""
    fitted, judged = ({case.id for case in half} for half in halves(cases))
    found = []
    for case in cases:
        if case.id not in PREDICTORS:
            continue
        part = "fitted" if case.id in fitted else "judged" if case.id in judged else "assumed"
        used = PREDICTORS[case.id]
        found += [Judged(case.id, part, figure, used.assumed) for figure in used.predict(case, efficiency_of)]
    return found


def report(judged: Sequence[Judged], source: str) -> str:
    """The figures as Markdown: a summary by part, each figure worst first, and what is not predicted."""
    lines = [
        "# Accuracy of the step-time model",
        "",
        f"Timings of {source} against the roofline, with one set of efficiencies for all of them. Of the cases on",
        "Hopper GPUs that name model, batch and acceptance, every second one was fitted and the others are judged: the",
        "accuracy to expect is that of the judged ones. Where a source leaves GPU, model or load open, the assumption",
        "stands in the table. The goal is 10 % for times per token, throughputs and ratios, 20 % for times to first",
        "token. Written by `python -m scenarios.accuracy_timing`.",
        "",
        "Limits. Which cases count as clean, which constants are fitted and with which loss was settled over a few",
        "fits, with the errors of the judged half in view: it is held out of the fit, not unseen. The halves are small",
        "and differ in kind: batches are fitted from two studies of one 8B model, and fitting the other half instead",
        "(`python -m benchmarks.fit_efficiency --swap`) moves the constants of verification and of rounds by a factor",
        "of four. The share of the peak that prompts reach was declared with the 27B case below in view.",
        "",
        "| Part | Figures | Within the goal | Median absolute error | Mean error |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for part in ("fitted", "judged", "assumed"):
        chosen = [one for one in judged if one.part == part]
        if chosen:
            errors = np.array([one.figure.error for one in chosen])
            met = sum(one.met for one in chosen)
            lines.append(f"| {part} | {len(chosen)} | {met} | {np.median(np.abs(errors)):.1%} | {errors.mean():+.1%} |")
    lines += [
        "",
        "| Case | Part | Figure | Predicted | Measured | Error | Reason of a miss, or what is assumed |",
        "| --- | --- | --- | ---: | ---: | ---: | --- |",
    ]
    for one in sorted(judged, key=lambda one: -abs(one.figure.error)):
        note = one.assumed if one.met else reason_of(one.case, one.figure.quantity)
        figure = one.figure
        lines.append(
            f"| {one.case} | {one.part} | {figure.quantity} | {figure.predicted:.4g} | {figure.measured:.4g} "
            f"| {figure.error:+.1%} | {note} |"
        )
    lines += ["", "Not predicted:", ""]
    lines += [f"- {name}: {why}" for name, why in NOT_PREDICTED.items()]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the table for the file named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m scenarios.accuracy_timing", description=main.__doc__)
    parser.add_argument("file", type=Path, help="JSON list of published cases")
    parser.add_argument("--output", type=Path, default=Path("docs/accuracy-timing.md"))
    options = parser.parse_args()
    judged = judge(read_cases(options.file))
    if not judged:
        parser.error(f"{options.file} has no timing that can be predicted")
    options.output.write_text(report(judged, options.file.name), encoding="utf-8")


if __name__ == "__main__":
    main()
