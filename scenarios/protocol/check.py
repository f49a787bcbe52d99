"""P1 and R1 to R4 on the arms' results: estimate, interval, threshold, count and a ruling that can come out three ways.

Class figures come from the arm that isolates the class: A is prose, B tool calls, C reasoning.
"""

from __future__ import annotations

from enum import StrEnum
from math import exp, inf, sqrt
from typing import NamedTuple

import msgspec
import numpy as np
from scipy import stats

from scenarios.answer import Interval
from scenarios.protocol.pairs import PairComparison
from scenarios.protocol.results import CompositionFigures, Figures, Results
from simulator import predictions
from simulator.intervals import Z_95, clustered_ratio, wilson

LAW_NOTE = (
    "simulated with acceptance drawn from the law: agreement cannot confirm the law, only that the formulas and the "
    "engine agree"
)

_LARGEST_EXPONENT = 700.0


class Outcome(StrEnum):
    """A ruling on one predicate."""

    NOT_REJECTED = "not rejected"
    REJECTED = "rejected"
    NOT_ENOUGH = "not enough data"


class Ruling(msgspec.Struct, frozen=True, kw_only=True):
    """One predicate on one set of runs."""

    predicate: str
    """P1, R1, R2, R3 or R4, with the comparison."""
    where: str
    estimate: Interval | None
    """95 %; None: nothing to estimate from."""
    threshold: float
    n: int
    """Rounds, requests, repetitions or outputs that it rests on."""
    sessions: int | None = None
    """Sessions or requests that the interval is taken over, the fewer of both sides; None: it is not taken over any."""
    outcome: Outcome
    reason: str


class _Tau(NamedTuple):
    mean: float
    error: float
    rounds: float
    sessions: int
    """That the error is taken over; 0: rounds were taken as independent."""


def check(results: Results, comparisons: list[PairComparison]) -> list[Ruling]:
    """All rulings on *results*, whose figures are resolved, and on the paired outputs."""
    rulings = []
    settings = sorted({(run.gamma, run.batch) for run in results.runs})
    for gamma, batch in settings:
        taus = {
            run.arm: _tau(run.figures)
            for run in results.runs
            if (run.gamma, run.batch) == (gamma, batch) and run.figures is not None and run.figures.num_drafts
        }
        where = f"gamma {gamma}, b {batch}"
        rulings += [
            _ratio("P1 tau_S > tau_R", where, taus.get("B"), taus.get("C"), 1.0),
            _ratio("P1 tau_R > tau_F", where, taus.get("C"), taus.get("A"), 1.0),
            _ratio("P1 tau_S / tau_F", where, taus.get("B"), taus.get("A"), predictions.P1_RATIO),
            _ratio("R1 tau_S <= tau_F", where, taus.get("B"), taus.get("A"), 1.0),
        ]
    rulings += [_r2(f"{run.arm}, gamma {run.gamma}, b {run.batch}", run.w_S, run.figures) for run in results.runs]
    rulings.append(_r3(results.composition))
    rulings += [_r4(one) for one in comparisons] or [_untested("R4", "paired outputs", 0, "no paired outputs given")]
    return rulings


def combined(rulings: list[Ruling], predicate: str) -> Outcome:
    """One outcome for all rulings whose predicate begins with *predicate*: rejected by any, else decided by all."""
    found = [one.outcome for one in rulings if one.predicate.split()[0] == predicate]
    if Outcome.REJECTED in found:
        return Outcome.REJECTED
    if not found or Outcome.NOT_REJECTED not in found:
        return Outcome.NOT_ENOUGH
    decisive = [one for one in rulings if one.predicate.split()[0] == predicate and one.estimate is not None]
    undecided = any(one.outcome is Outcome.NOT_ENOUGH for one in decisive)
    return Outcome.NOT_ENOUGH if undecided else Outcome.NOT_REJECTED


def _tau(figures: Figures) -> _Tau:
    """Mean accepted drafts of a round with its standard error.

    The error is that of a ratio of sums over sessions, robust to whatever links the rounds of one session. Where the
    source has no sessions, rounds are taken as independent: with s_i the share of rounds that accept i or more, mean =
    sum s_i and second moment = sum (2 i - 1) s_i.
    """
    rounds = np.array(figures.rounds_by_session)
    if rounds.size:
        some = rounds > 0
        mean, error = clustered_ratio(np.array(figures.accepted_by_session)[some], rounds[some])
        return _Tau(mean, error, figures.num_drafts, int(some.sum()))
    survival = np.array(figures.accepted_per_pos) / figures.num_drafts
    mean = float(survival.sum())
    second = float((survival * (2 * np.arange(1, survival.size + 1) - 1)).sum())
    return _Tau(mean, sqrt(max(0.0, second - mean**2) / figures.num_drafts), figures.num_drafts, 0)


def _ratio(predicate: str, where: str, above: _Tau | None, below: _Tau | None, threshold: float) -> Ruling:
    """Whether one tau is more than *threshold* times another; the interval is that of the log of the ratio."""
    if above is None or below is None:
        return _untested(predicate, where, threshold, "an arm has no rounds")
    n = int(min(above.rounds, below.rounds))
    if above.mean == 0 or below.mean == 0:
        return _untested(predicate, where, threshold, "an arm had no draft accepted", n)
    ratio = above.mean / below.mean
    fewest = min((one.sessions for one in (above, below) if one.sessions), default=None)
    quantile = Z_95 if fewest is None else float(stats.t.ppf(0.975, max(1, fewest - 1)))
    spread = _exp(quantile * sqrt((above.error / above.mean) ** 2 + (below.error / below.mean) ** 2))
    estimate = Interval(ratio, ratio / spread, ratio * spread)
    reason = f"tau {above.mean:.3f} against {below.mean:.3f}"
    if not (above.sessions and below.sessions):
        reason += "; rounds taken as independent where the source has no sessions: the interval is too narrow"
    return msgspec.structs.replace(_above(predicate, where, estimate, threshold, n, reason), sessions=fewest)


def _exp(value: float) -> float:
    return exp(value) if value < _LARGEST_EXPONENT else inf


def _above(predicate: str, where: str, estimate: Interval, threshold: float, n: int, reason: str) -> Ruling:
    """Rejected if the whole interval is at or below *threshold*, not rejected if it is above it."""
    outcome = Outcome.NOT_ENOUGH
    if estimate.high <= threshold:
        outcome = Outcome.REJECTED
    elif estimate.low > threshold:
        outcome = Outcome.NOT_REJECTED
    return Ruling(
        predicate=predicate, where=where, estimate=estimate, threshold=threshold, n=n, outcome=outcome, reason=reason
    )


def _r2(where: str, w_S: float | None, figures: Figures | None) -> Ruling:
    if w_S is None or w_S < predictions.R2_SCHEMA_SHARE:
        shown = "unknown" if w_S is None else f"{w_S:.3f}"
        return _untested("R2", where, 0.0, f"w_S {shown}, the rule looks at {predictions.R2_SCHEMA_SHARE} and more")
    if figures is None or figures.tpot_s is None or figures.plain_tpot_s is None:
        return _untested("R2", where, 0.0, "no times per output token with and without speculation")
    cost = figures.tpot_s / figures.plain_tpot_s
    n = int(figures.num_drafts)
    if figures.tpot_error_s is None or figures.plain_tpot_error_s is None:
        return _untested("R2", where, 0.0, f"saving {1 - cost:.3f}, but the source gives no spread of the times", n)
    relative = sqrt(
        (figures.tpot_error_s / figures.tpot_s) ** 2 + (figures.plain_tpot_error_s / figures.plain_tpot_s) ** 2
    )
    spread = exp(Z_95 * relative)
    estimate = Interval(1 - cost, 1 - cost * spread, 1 - cost / spread)
    return _above("R2", where, estimate, 0.0, n, f"decode saving at w_S {w_S:.3f}")


def _r3(figures: CompositionFigures | None) -> Ruling:
    limit = predictions.R3_RESIDUAL
    try:
        formula, joint = figures.totals if figures is not None else ([], [])
    except ValueError as error:
        return _untested("R3", "composition", limit, str(error))
    if not joint:
        reason = "no C_total by formula and as it came out: give the manifest's composition (docs/protocol.md)"
        return _untested("R3", "composition", limit, reason)
    residuals = np.abs(np.array(formula) / np.array(joint) - 1)
    mean = float(residuals.mean())
    n = residuals.size
    if n < 2:
        return Ruling(
            predicate="R3",
            where="composition",
            estimate=Interval(mean, 0.0, float("inf")),
            threshold=limit,
            n=n,
            outcome=Outcome.NOT_ENOUGH,
            reason="one repetition has no spread",
        )
    half = Z_95 * float(residuals.std(ddof=1)) / sqrt(n)
    estimate = Interval(mean, max(0.0, mean - half), mean + half)
    outcome = Outcome.NOT_ENOUGH
    if estimate.low > limit:
        outcome = Outcome.REJECTED
    elif estimate.high <= limit:
        outcome = Outcome.NOT_REJECTED
    return Ruling(
        predicate="R3",
        where="composition",
        estimate=estimate,
        threshold=limit,
        n=n,
        outcome=outcome,
        reason="residual of C_total, absolute",
    )


def _r4(one: PairComparison) -> Ruling:
    where = f"{one.plain} against {one.speculative}"
    if not one.outputs:
        return _untested("R4", where, 0.0, "no output stands in both files")
    share = one.mismatched / one.outputs
    low, high = wilson(share, one.outputs)
    reason = one.first.text if one.first is not None else f"{one.tokens:,} tokens agree"
    return Ruling(
        predicate="R4",
        where=where,
        estimate=Interval(share, low, high),
        threshold=0.0,
        n=one.outputs,
        outcome=Outcome.REJECTED if one.mismatched else Outcome.NOT_REJECTED,
        reason=reason,
    )


def _untested(predicate: str, where: str, threshold: float, reason: str, n: int = 0) -> Ruling:
    return Ruling(
        predicate=predicate,
        where=where,
        estimate=None,
        threshold=threshold,
        n=n,
        outcome=Outcome.NOT_ENOUGH,
        reason=reason,
    )
