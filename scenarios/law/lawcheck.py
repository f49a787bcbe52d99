"""The law against the truth: each approximation of tokens per round on one labelled trace, and its break-evens."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version

import msgspec
import numpy as np

from scenarios.acceptance.expected import AcceptanceChoice, Expectation, expectation, mean_eps, replayed_outputs
from scenarios.answer import Interval, PredictionRow
from scenarios.law.breakeven import BreakEvens, break_evens
from scenarios.law.labelcounts import first_label_counts, label_counts
from scenarios.law.spanfit import SpanRow, by_span_length
from scenarios.law.stretch import schema_share
from scenarios.options.parameters import Parameter
from scenarios.setup import Setup
from simulator import law, predictions
from simulator.acceptance.base import F64, Outputs
from simulator.acceptance.expectation import expectation as sampled_expectation
from simulator.acceptance.rounds import chain_rounds
from simulator.config import MODELLED_ENGINE
from simulator.lawcosts import LawCosts
from tokenclass.classes import CLASS_OF_SUBCLASS, PositionClass, SubClass

SAMPLES = 16


class Approximation(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens per round by one way of reckoning."""

    name: str
    formula: str
    tokens_per_round: float | None
    interval: Interval | None
    """95 % where it is sampled."""
    saving: float | None
    """Decode saving s at the costs of the check."""


class ClassTruth(msgspec.Struct, frozen=True, kw_only=True):
    """One position class."""

    label: str
    share: float
    eps: float
    tau_law: float
    tau_exact: float | None
    """Drafts accepted per round that starts in the class, by independent drafts."""
    tau_measured: float | None
    tokens_per_round_exact: float | None
    tokens_per_round_measured: float | None


class LawCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The law against the truth on one trace."""

    tool: str
    version: str
    modelled_engine: str
    seed: int
    trace_sha256: str
    gamma: int
    output_tokens: int
    c_T_s: float
    delta: float
    d: float
    o: float
    n_seqs: float
    approximations: list[Approximation]
    classes: list[ClassTruth]
    spans: list[SpanRow]
    break_even: BreakEvens
    predictions: list[PredictionRow]
    config: dict[str, Parameter]
    assumptions: dict[str, int]
    omissions: dict[str, int]


@dataclass(frozen=True, slots=True)
class _Classes:
    """Shares and mean eps of the classes that occur."""

    w: tuple[float, ...]
    eps: tuple[float, ...]


def law_check(setup: Setup) -> LawCheck:
    """Compare the law with exact, sampled and known rounds on the outputs of *setup*, whose gamma must be above 0."""
    gamma, choice = setup.gamma, setup.choice
    outputs = replayed_outputs(setup.baseline)
    costs = setup.costs(gamma)
    exact = expectation(choice.table, outputs, gamma)
    known = expectation(choice.model, outputs, gamma) if choice.measured else None
    paid = known or exact
    per_round = paid.cost_per_round(costs)
    rows = _classes(outputs, choice, exact, known, gamma)
    tau = {row.label: row.tau_exact if known is None else row.tau_measured for row in rows}
    saving = 1 - paid.cost_per_token(costs)
    rulings = [
        predictions.p1(tau.get("S"), tau.get("R"), tau.get("F")),
        predictions.r1(tau.get("S"), tau.get("F")),
        predictions.r2(schema_share(outputs.labels), saving),
    ]
    return LawCheck(
        tool="simtool",
        version=version("simtool"),
        modelled_engine=MODELLED_ENGINE,
        seed=setup.seed,
        trace_sha256=setup.recording.sha256,
        gamma=gamma,
        output_tokens=len(outputs.labels),
        c_T_s=costs.c_T_s,
        delta=costs.delta,
        d=costs.d,
        o=costs.o,
        n_seqs=costs.n_seqs,
        approximations=_approximations(setup, outputs, exact, known, (costs, per_round)),
        classes=rows,
        spans=by_span_length(outputs, choice, gamma),
        break_even=break_evens(outputs, choice, costs, gamma, per_round),
        predictions=[PredictionRow(name=one.name, ruling=one.ruling.value, reason=one.reason) for one in rulings],
        config=setup.book.entries,
        assumptions=setup.recording.notes(),
        omissions=dict(setup.recording.log.omitted),
    )


def _approximations(
    setup: Setup,
    outputs: Outputs,
    exact: Expectation,
    known: Expectation | None,
    paid: tuple[LawCosts, float],
) -> list[Approximation]:
    """All ways of reckoning; *paid* is the law's constants and what a round costs, less where rounds draft less."""
    costs, per_round = paid
    gamma, choice = setup.gamma, setup.choice
    present = _present(outputs, choice.eps)
    eps_bar = mean_eps(outputs.labels, choice.eps)

    def saved(tokens: float | None) -> float | None:
        return None if tokens is None else 1 - costs.round_cost(gamma) / tokens

    def row(name: str, formula: str, tokens: float | None) -> Approximation:
        return Approximation(name=name, formula=formula, tokens_per_round=tokens, interval=None, saving=saved(tokens))

    jumped, depth = _mean_jump(choice, outputs), choice.law_depth(gamma)
    by_class = jumped + sum(w * law.tau(eps, depth) for w, eps in zip(present.w, present.eps, strict=True)) + 1
    plus = " + mean forced run" if jumped else ""
    rows = [
        row("law", f"tau(eps_bar) + 1{plus}", law.tokens_per_round(eps_bar, depth) + jumped),
        row("law, per class", f"sum w_c tau_c + 1{plus}", by_class),
        row("span limit", "1 / sum w_c / (tau_c + 1)", law.span_limit_tokens_per_round(present.w, present.eps, depth)),
        msgspec.structs.replace(
            row("exact", "independent drafts over the labels", exact.tokens_per_round),
            saving=1 - per_round / exact.tokens_per_round,
        ),
    ]
    if not choice.measured:
        found = sampled_expectation(choice.model, outputs, gamma, replicas=SAMPLES)
        drawn = _sampled(choice, outputs, gamma)
        rows.append(
            Approximation(
                name="sampled",
                formula=f"one draw; interval of the mean of {SAMPLES}" if found.replicas > 1 else "one draw",
                tokens_per_round=drawn,
                interval=Interval(drawn, *found.interval) if found.replicas > 1 and found.interval else None,
                saving=saved(drawn) if choice.constraint is None else 1 - per_round / drawn,
            )
        )
    if known is not None:
        measured = row("measured", "drafter run on the recorded tokens", known.tokens_per_round)
        rows.append(msgspec.structs.replace(measured, saving=1 - known.cost_per_token(costs)))
    if setup.recorded_tokens_per_round is not None:
        rows.append(row("recorded", "rounds that the recording carries", setup.recorded_tokens_per_round))
    return rows


def _mean_jump(choice: AcceptanceChoice, outputs: Outputs) -> float:
    """Tokens emitted by force after a round that ends at a random position."""
    jump = None if choice.constraint is None else choice.constraint.beside(outputs, 1).jump
    return 0.0 if jump is None or not jump.size else float(jump.mean())


def _sampled(choice: AcceptanceChoice, outputs: Outputs, gamma: int) -> float:
    rounds = chain_rounds(choice.model.potential(outputs, gamma), outputs.offsets)
    return float(rounds.emitted.sum() / len(rounds)) if len(rounds) else 1.0


def _present(outputs: Outputs, eps: F64) -> _Classes:
    counts = label_counts(outputs.labels)
    shares, means = [], []
    for one in PositionClass:
        index = np.array([label for label in SubClass if CLASS_OF_SUBCLASS[label] is one])
        tokens = int(counts[index].sum())
        if tokens:
            shares.append(tokens / len(outputs.labels))
            means.append(float(counts[index] @ eps[index] / tokens))
    return _Classes(tuple(shares), tuple(means))


def _classes(
    outputs: Outputs, choice: AcceptanceChoice, exact: Expectation, known: Expectation | None, gamma: int
) -> list[ClassTruth]:
    counts = label_counts(outputs.labels)
    first = first_label_counts(outputs)
    rows = []
    for one in PositionClass:
        index = np.array([label for label in SubClass if CLASS_OF_SUBCLASS[label] is one])
        tokens = int(counts[index].sum())
        if not tokens:
            continue
        eps = float(counts[index] @ choice.eps[index] / tokens)
        emitted = tokens - int(first[index].sum())
        rows.append(
            ClassTruth(
                label=one.name,
                share=tokens / len(outputs.labels),
                eps=eps,
                tau_law=law.tau(eps, choice.law_depth(gamma)),
                tau_exact=_tau(exact, index),
                tau_measured=None if known is None else _tau(known, index),
                tokens_per_round_exact=_per_round(exact, index, emitted),
                tokens_per_round_measured=None if known is None else _per_round(known, index, emitted),
            )
        )
    return rows


def _tau(found: Expectation, index: np.ndarray[tuple[int], np.dtype[np.int64]]) -> float | None:
    started = float(found.by_label.started[index].sum())
    return float(found.by_label.accepted_from[index].sum()) / started if started else None


def _per_round(found: Expectation, index: np.ndarray[tuple[int], np.dtype[np.int64]], emitted: int) -> float | None:
    share = float(found.by_label.share[index].sum())
    return emitted / share if share else None
