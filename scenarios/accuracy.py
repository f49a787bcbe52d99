"""How well acceptance models predict published measurements: half of each is fitted, the other half predicted.

``python -m scenarios.accuracy FILE.json [--output docs/accuracy.md]`` writes the table.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import minimize_scalar

from scenarios.publishedcases import (
    LengthSeries,
    PositionAverage,
    PositionRates,
    PublishedCase,
    length_series,
    position_average,
    position_rates,
    read_cases,
)
from simulator.acceptance.base import Outputs
from simulator.acceptance.correlated import PersistentAcceptance
from simulator.acceptance.rounds import chain_rounds
from simulator.acceptance.table import alpha_of_acceptance_length, conditional_of_survival, from_conditional
from simulator.exact import expect
from simulator.law import tokens_per_round
from simulator.rng import key
from tokenclass.classes import SubClass

OUTPUT_TOKENS = 50_000
"""Length of the output that predictions are computed on: its end weighs less than 0.1 %."""

CONSTANT = "constant alpha"
PER_DEPTH = "alpha per depth"
AVERAGE = "position average"
PERSISTENT = "position average with autocorrelation"


@dataclass(frozen=True, slots=True)
class Prediction:
    """One held-out figure and what a model fitted to the rest says."""

    case: str
    quantity: str
    model: str
    measured: float
    predicted: float

    @property
    def relative_error(self) -> float:
        """Predicted over measured, less 1."""
        return self.predicted / self.measured - 1


def predict(cases: Sequence[PublishedCase]) -> list[Prediction]:
    """Predictions of all held-out figures of *cases*, in their order."""
    found: list[Prediction] = []
    for case in cases:
        for series in length_series(case):
            found.extend(_predict_series(series))
        for rates in position_rates(case):
            found.extend(_predict_rates(rates))
        average = position_average(case)
        if average is not None:
            found.extend(_predict_rounds(average))
    return found


def accepted_per_depth(gammas: Sequence[int], lengths: Sequence[float]) -> list[float]:
    """Conditional acceptance per depth that gives *lengths* at *gammas*, constant between two of them.

    A length that does not rise, or rises by more than a token a draft, gets the nearest possible rate.
    """
    rates: list[float] = []
    reached, length, depth = 1.0, 1.0, 0
    for gamma, wanted in zip(gammas, lengths, strict=True):
        steps = gamma - depth
        share = (wanted - length) / reached if reached > 0 else 0.0
        rate = alpha_of_acceptance_length(1 + min(max(share, 0.0), float(steps)), steps)
        rates += [rate] * steps
        reached, length, depth = reached * rate**steps, wanted, gamma
    return rates


def _predict_series(series: LengthSeries) -> Iterator[Prediction]:
    pairs = list(zip(series.gammas, series.lengths, strict=True))
    fitted, held_out = pairs[::2], pairs[1::2]
    models = {CONSTANT: [_constant_alpha(fitted)], PER_DEPTH: accepted_per_depth(*zip(*fitted, strict=True))}
    for name, rates in models.items():
        for gamma, length in held_out:
            yield Prediction(series.name, f"acceptance length, gamma {gamma}", name, length, _length(rates, gamma))


def _predict_rates(rates: PositionRates) -> Iterator[Prediction]:
    """The acceptance length from the shallower half of the positions."""
    gamma = len(rates.survival)
    seen = rates.survival[: (gamma + 1) // 2]
    models = {
        CONSTANT: [alpha_of_acceptance_length(1 + sum(seen), len(seen))],
        PER_DEPTH: conditional_of_survival(seen),
    }
    for name, conditional in models.items():
        predicted = _length(conditional, gamma)
        quantity = f"acceptance length, gamma {gamma}, from {len(seen)} positions"
        yield Prediction(rates.name, quantity, name, 1 + sum(rates.survival), predicted)


def _predict_rounds(case: PositionAverage) -> Iterator[Prediction]:
    """Figures of rounds from the average over all positions and its autocorrelation alone."""
    table = from_conditional([case.average])
    outputs = _output()
    gammas, lengths = (case.series.gammas, case.series.lengths) if case.series else ((), ())
    for name, model in ((AVERAGE, table), (PERSISTENT, PersistentAcceptance(table, case.lag1))):
        potential = model.potential(outputs, max(gammas, default=1))
        first = chain_rounds(potential, outputs.offsets).accepted > 0
        yield Prediction(case.name, "first-draft acceptance in rounds", name, case.first_in_rounds, float(first.mean()))
        for gamma, length in zip(gammas, lengths, strict=True):
            emitted = chain_rounds(potential.cut(gamma), outputs.offsets).emitted
            quantity = f"acceptance length, gamma {gamma}, from the average"
            yield Prediction(case.name, quantity, name, length, float(emitted.mean()))


def _constant_alpha(pairs: Sequence[tuple[int, float]]) -> float:
    def misfit(alpha: float) -> float:
        return sum((tokens_per_round(1 - alpha, gamma) / length - 1) ** 2 for gamma, length in pairs)

    return float(minimize_scalar(misfit, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-9}).x)


def _length(conditional: Sequence[float], gamma: int) -> float:
    found = expect(from_conditional(conditional), _output(), gamma)
    return float(found.tokens.sum() / found.rounds.sum())


def _output() -> Outputs:
    labels = np.full(OUTPUT_TOKENS, SubClass.F, dtype=np.uint8)
    return Outputs(labels, np.array([0, OUTPUT_TOKENS]), np.array([key(0, "accuracy")], dtype=np.uint64))


def report(predictions: Sequence[Prediction], source: str) -> str:
    """The predictions as Markdown: errors by model, then each figure."""
    lines = [
        "# Accuracy of the acceptance models",
        "",
        f"Held-out figures of {source}, predicted from the rest of the same measurement: every second draft depth of a",
        "series, the deeper half of per-position rates, and figures of rounds from the average over all positions.",
        "Written by `python -m scenarios.accuracy`. The average over positions says nothing about how acceptance falls",
        "with depth: autocorrelation alone fits n-gram drafts, and over-predicts the length for heads such as EAGLE.",
        "",
        "| Model | Figures | Mean error | Mean absolute error | Largest |",
        "| --- | --- | --- | --- | --- |",
    ]
    for model in (CONSTANT, PER_DEPTH, AVERAGE, PERSISTENT):
        errors = np.array([one.relative_error for one in predictions if one.model == model])
        if errors.size:
            size = np.abs(errors)
            lines.append(
                f"| {model} | {errors.size} | {errors.mean():+.1%} | {size.mean():.1%} | {errors[size.argmax()]:+.1%} |"
            )
    lines += ["", "| Case | Quantity | Model | Measured | Predicted | Error |", "| --- | --- | --- | --- | --- | --- |"]
    lines += [
        f"| {one.case} | {one.quantity} | {one.model} | {one.measured:.3f} | {one.predicted:.3f} "
        f"| {one.relative_error:+.1%} |"
        for one in predictions
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the table for the file named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m scenarios.accuracy", description=main.__doc__)
    parser.add_argument("file", type=Path, help="JSON list of published cases")
    parser.add_argument("--output", type=Path, default=Path("docs/accuracy.md"))
    options = parser.parse_args()
    predictions = predict(read_cases(options.file))
    if not predictions:
        parser.error(f"{options.file} has no acceptance measurement to predict")
    options.output.write_text(report(predictions, options.file.name), encoding="utf-8")


if __name__ == "__main__":
    main()
