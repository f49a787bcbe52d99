"""Fits the efficiencies of Hopper GPUs to one half of the published timings.

``python -m benchmarks.fit_efficiency published.json`` prints the set that stands in simulator/cost/efficiency.py.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.optimize import least_squares

from scenarios.accuracy_timing import halves
from scenarios.published.publishedcases import PublishedCase, read_cases
from scenarios.published.timing_cases import PREDICTORS
from simulator.cost import DEFAULT_EFFICIENCY, FITTED, Efficiency

F64 = npt.NDArray[np.float64]

LOG_RANGE = np.log(4.0)
"""Values are sought between a quarter and four times the present ones; shares of a peak stay below 0.95."""
SCALE = 0.03
"""Relative errors well above this one count little: a case that differs in kind should not bend the rest."""


def fit(cases: list[PublishedCase]) -> Efficiency:
    """The set with the least errors on *cases*; each case weighs the same, however many figures it has."""
    start = np.array([getattr(DEFAULT_EFFICIENCY, name) for name in FITTED])

    def made(logs: F64) -> Efficiency:
        return replace(DEFAULT_EFFICIENCY, **dict(zip(FITTED, (start * np.exp(logs)).tolist(), strict=True)))

    def errors(logs: F64) -> F64:
        used = made(logs)
        found = []
        for case in cases:
            figures = PREDICTORS[case.id].predict(case, lambda _: used)
            weight = 1 / np.sqrt(len(figures))
            found += [weight * np.log(one.predicted / one.measured) for one in figures]
        return np.array(found)

    top = np.array([np.log(0.95 / value) if value > 0.1 else LOG_RANGE for value in start])
    result = least_squares(
        errors, np.zeros(len(FITTED)), loss="cauchy", f_scale=SCALE, bounds=(-LOG_RANGE, np.minimum(top, LOG_RANGE))
    )
    return made(result.x)


def main() -> None:
    """Print the fitted set."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("file", type=Path, help="JSON list of published cases")
    parser.add_argument("--swap", action="store_true", help="fit the half that judges, and judge the other")
    options = parser.parse_args()
    fitted_on, judged_on = halves(read_cases(options.file))
    if options.swap:
        fitted_on, judged_on = judged_on, fitted_on
    found = fit(fitted_on)
    for name in FITTED:
        print(f"{name} {getattr(found, name):.4g}")
    for what, half in (("fitted", fitted_on), ("judged", judged_on)):
        figures = [one for case in half for one in PREDICTORS[case.id].predict(case, lambda _: found)]
        middle = float(np.median([abs(one.error) for one in figures]))
        print(f"{what}: median error {middle:.1%} of {len(figures)} figures in {', '.join(case.id for case in half)}")


if __name__ == "__main__":
    main()
