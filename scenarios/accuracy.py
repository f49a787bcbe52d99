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

from scenarios.published.publishedcases import (
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
    basis: str
    """What the prediction takes for granted: the reason where it misses."""

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
            quantity, basis = f"acceptance length, gamma {gamma}", _series_basis(name, rates, fitted, gamma)
            yield Prediction(series.name, quantity, name, length, _length(rates, gamma), basis)


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
        basis = _rates_basis(rates.survival, len(seen), constant=name == CONSTANT)
        yield Prediction(rates.name, quantity, name, 1 + sum(rates.survival), predicted, basis)


def _predict_rounds(case: PositionAverage) -> Iterator[Prediction]:
    """Figures of rounds from the average over all positions and its autocorrelation alone."""
    table = from_conditional([case.average])
    outputs = _output()
    gammas, lengths = (case.series.gammas, case.series.lengths) if case.series else ((), ())
    for name, model in ((AVERAGE, table), (PERSISTENT, PersistentAcceptance(table, case.lag1))):
        potential = model.potential(outputs, max(gammas, default=1))
        first = chain_rounds(potential, outputs.offsets).accepted > 0
        share, basis = float(first.mean()), _ROUND_BASIS[name]
        yield Prediction(case.name, "first-draft acceptance in rounds", name, case.first_in_rounds, share, basis)
        for gamma, length in zip(gammas, lengths, strict=True):
            emitted = chain_rounds(potential.cut(gamma), outputs.offsets).emitted
            quantity = f"acceptance length, gamma {gamma}, from the average"
            yield Prediction(case.name, quantity, name, length, float(emitted.mean()), basis)


_ROUND_BASIS = {
    AVERAGE: "rounds start where a draft failed, in harder text than the average position",
    PERSISTENT: "acceptance falls with depth too, which autocorrelation does not tell",
}


def _series_basis(model: str, rates: Sequence[float], fitted: Sequence[tuple[int, float]], gamma: int) -> str:
    if model == CONSTANT:
        depths = accepted_per_depth(*zip(*fitted, strict=True))
        return f"one alpha for all depths; fitted depths have {depths[0]:.2f} first, {depths[-1]:.2f} last"
    deepest = fitted[-1][0]
    if gamma > deepest:
        return f"the rate of the deepest fitted draft ({rates[-1]:.2f}) is taken on beyond depth {deepest}"
    below = max((depth for depth, _ in fitted if depth < gamma), default=0)
    above = min(depth for depth, _ in fitted if depth > gamma)
    return f"one rate from depth {below + 1} to {above}: the fall within is not seen"


def _rates_basis(survival: Sequence[float], seen: int, *, constant: bool) -> str:
    conditional = conditional_of_survival(survival)
    if constant:
        return f"one alpha for all depths; measured {conditional[0]:.2f} first, {conditional[-1]:.2f} last"
    return f"the rate at depth {seen} ({conditional[seen - 1]:.2f}) is taken on; measured {conditional[-1]:.2f} last"


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


GOAL = 0.03
"""Largest relative error of a length that counts as a hit."""


def not_predicted(cases: Sequence[PublishedCase], predictions: Sequence[Prediction]) -> list[str]:
    """Cases that measure acceptance in a shape of which nothing can be held out."""
    told = {one.case.split(" ")[0] for one in predictions}
    return [
        case.id
        for case in cases
        if case.id not in told and any(word in name for name in case.measured for word in ("accept", "alpha", "tau_"))
    ]


def report(predictions: Sequence[Prediction], source: str, left_out: Sequence[str] = ()) -> str:
    """The predictions as Markdown: errors by model, then each figure, the worst first, then what is not predicted."""
    lines = [
        "# Accuracy of the acceptance models",
        "",
        f"Held-out figures of {source}, predicted from the rest of the same measurement: every second draft depth of a",
        "series, the deeper half of per-position rates, and figures of rounds from the average over all positions.",
        "Written by `python -m scenarios.accuracy`. The average over positions says nothing about how acceptance falls",
        "with depth: autocorrelation alone fits n-gram drafts, and over-predicts the length for heads such as EAGLE.",
        "",
        "| Model | Figures | Within 3 % | Mean error | Mean absolute error | Largest |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for model in (CONSTANT, PER_DEPTH, AVERAGE, PERSISTENT):
        errors = np.array([one.relative_error for one in predictions if one.model == model])
        if errors.size:
            size = np.abs(errors)
            lines.append(
                f"| {model} | {errors.size} | {np.mean(size <= GOAL):.0%} | {errors.mean():+.1%} | {size.mean():.1%} "
                f"| {errors[size.argmax()]:+.1%} |"
            )
    lines += [
        "",
        "| Case | Quantity | Model | Measured | Predicted | Error | Reason of a miss |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {one.case} | {one.quantity} | {one.model} | {one.measured:.3f} | {one.predicted:.3f} "
        f"| {one.relative_error:+.1%} | {one.basis if abs(one.relative_error) > GOAL else ''} |"
        for one in sorted(predictions, key=lambda one: -abs(one.relative_error))
    ]
    if left_out:
        lines += ["", "Not predicted: acceptance of fewer than three depths or positions, or of another kind, so that"]
        lines += [f"nothing is left to hold out ({len(left_out)} cases): {', '.join(left_out)}."]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the table for the file named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m scenarios.accuracy", description=main.__doc__)
    parser.add_argument("file", type=Path, help="JSON list of published cases")
    parser.add_argument("--output", type=Path, default=Path("docs/accuracy.md"))
    options = parser.parse_args()
    cases = read_cases(options.file)
    predictions = predict(cases)
    if not predictions:
        parser.error(f"{options.file} has no acceptance measurement to predict")
    options.output.write_text(
        report(predictions, options.file.name, not_predicted(cases, predictions)), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
