"""From what servers and recordings report to an acceptance profile, with intervals, origins and contradictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from scenarios.answer import Interval
from scenarios.calibration.calibrate import RoundCost, fitted_kappa, fitted_round_cost, hit_share
from scenarios.calibration.logprobfit import LogprobFigures
from scenarios.calibration.logprobkappa import FittedKappa, kappas, other_rho_bar, profile_of, too_good
from scenarios.calibration.recordedrounds import RoundCounts, deepest_round
from scenarios.calibration.serverfigures import SourceFigures, contradictions, source_figures
from scenarios.options.replay import OptionError
from scenarios.server.benchjson import read_bench
from scenarios.server.detect import Kind, kind_of
from scenarios.server.perrequest import read_requests
from scenarios.server.promtext import read_metrics
from scenarios.server.run import ServerRun
from scenarios.server.vllmlog import read_log
from simulator.intervals import wilson
from simulator.origin import Origin
from simulator.profile import AcceptanceProfile, Quantity
from tokenclass.classes import SubClass
from tokenclass.tagged import TaggedSession

DEFINITIONS = {
    "draft acceptance rate": "accepted draft tokens / drafted tokens",
    "acceptance length": "1 + accepted draft tokens / rounds that drafted; the 1 is the target's own (bonus) token",
    "per position": "rounds that accepted draft number i / rounds that drafted; unconditional: it falls with i",
    "per depth": "rounds that accepted number i / rounds that accepted number i - 1; what a profile holds",
    "rho": "exp(-H), H the mean next-token entropy in nats of the class; its bounds where only the likeliest are known",
    "kappa": "eps / (1 - rho), eps the share of first drafts that are refused",
    "interval": "95 %: over requests where the source has them, else Wilson's, which takes rounds as independent",
}


class FittedCost(msgspec.Struct, frozen=True, kw_only=True):
    """Round cost constants fitted to a sweep over draft depths: c_T (1 + o + gamma (delta + d))."""

    c_T_ms: float
    o: float
    delta_plus_d: float
    largest_residual: float
    runs: int


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """All that was found, and the profile made of it."""

    definitions: dict[str, str]
    sources: list[SourceFigures]
    contradictions: list[str]
    notes: list[str]
    cost: FittedCost | None
    hit_share: float | None
    logprobs: LogprobFigures | None
    """None where no recording has token logprobs."""
    kappa: list[FittedKappa]
    profile: AcceptanceProfile | None
    """None where no input reports acceptance or predictability."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What the inputs of a calibration came to."""

    runs: tuple[ServerRun, ...]
    traces: tuple[str, ...]


def read_inputs(paths: Sequence[str], earlier: str | None = None) -> Inputs:
    """The server runs in the files at *paths*, and the files that are recordings.

    *earlier* is a metrics dump that the one among *paths* is counted from. Raises TraceError for files that cannot be
    used, OptionError for metrics dumps whose order is not said.
    """
    kinds = [(path, kind_of(Path(path))) for path in paths]
    dumps = [path for path, kind in kinds if kind is Kind.METRICS]
    if len(dumps) > 1:
        raise OptionError(f"{len(dumps)} metrics dumps, {', '.join(dumps)}: give one, and that before with --earlier")
    if earlier is not None and not dumps:
        raise OptionError(f"--earlier {earlier}: there is no metrics dump among the inputs that it could come before")
    readers = {Kind.LOG: read_log, Kind.BENCH: read_bench, Kind.REQUESTS: read_requests}
    runs = []
    for path, kind in kinds:
        if kind is Kind.METRICS:
            runs.append(read_metrics(Path(path), Path(earlier) if earlier is not None else None))
        elif kind is not Kind.TRACE:
            runs.append(readers[kind](Path(path)))
    return Inputs(runs=tuple(runs), traces=tuple(path for path, kind in kinds if kind is Kind.TRACE))


def calibrate(
    base: AcceptanceProfile,
    runs: Sequence[ServerRun],
    sessions: Sequence[TaggedSession] = (),
    *,
    date: str = "",
    gamma: int | None = None,
    rho_bar: float | None = None,
    logprobs: LogprobFigures | None = None,
) -> Calibration:
    """The profile *base* with acceptance as *runs* and the recorded rounds of *sessions* have it.

    *gamma* is the draft depth of the recorded rounds, the deepest one seen if None; *rho_bar* the traffic's mean
    predictability, which kappa is fitted with, that of *logprobs* if None. Raises ValueError for figures that cannot be
    used.
    """
    notes: list[str] = []
    drafting = [run for run in runs if run.num_drafts]
    figures = [source_figures(run) for run in drafting]
    found = contradictions(figures)
    profile = _by_depth(base, drafting, figures, date) if drafting else None
    counts = _recorded(sessions, gamma, notes)
    if counts is not None and counts.rounds:
        profile = _by_class(profile or base, counts, date, notes)
    if logprobs is not None:
        found += [*logprobs.problems, *too_good(logprobs, counts), *other_rho_bar(logprobs, rho_bar)]
        profile = profile or profile_of(base, logprobs, date)
    rho = _given(rho_bar) or (logprobs.rho_bar if logprobs is not None else None)
    if profile is not None and rho is not None and drafting:
        profile = _with_kappa(profile, drafting, rho, "given" if rho_bar is not None else "of the logprobs", date)
    return Calibration(
        definitions=DEFINITIONS,
        sources=figures,
        contradictions=found,
        notes=notes,
        cost=_cost(runs, notes),
        hit_share=hit_share(runs),
        logprobs=logprobs,
        kappa=kappas(logprobs, counts) if logprobs is not None else [],
        profile=profile,
    )


def _given(rho_bar: float | None) -> Interval | None:
    return None if rho_bar is None else Interval(rho_bar, rho_bar, rho_bar)


def _by_depth(
    base: AcceptanceProfile, runs: Sequence[ServerRun], figures: Sequence[SourceFigures], date: str
) -> AcceptanceProfile:
    """*base* with the same acceptance per depth for all labels; sources that contradict each other widen the spread.

    Agreeing sources are pooled by rounds. Contradicting ones are not: the one of most rounds gives the values.
    """
    agree = not contradictions(figures)
    chosen = list(runs) if agree else [max(runs, key=lambda run: run.num_drafts)]
    rates, source = _pooled_rates(chosen), ", ".join(run.source for run in chosen)
    first = [one.depths[0].per_depth for one in figures]
    if agree and len(chosen) > 1:
        low, high = wilson(rates[0], sum(run.num_drafts for run in chosen))
    else:
        low, high = min(one.low for one in first), max(one.high for one in first)
    eps = Quantity(
        value=1 - rates[0],
        low=1 - max(high, rates[0]),
        high=1 - min(low, rates[0]),
        origin=Origin.MEASURED,
        source=f"{source}; no classes in it: the same for all",
        date=date,
    )
    return msgspec.structs.replace(
        base,
        name=f"measured: {source}",
        eps={label.name: eps for label in SubClass},
        conditional={label.name: tuple(rates) for label in SubClass},
        lag1=None,
        clipped=(),
    )


def _pooled_rates(runs: Sequence[ServerRun]) -> list[float]:
    """Acceptance per depth, those before accepted, over all runs that reach the depth."""
    rates = []
    for depth in range(max(run.gamma for run in runs)):
        deep = [run for run in runs if run.gamma > depth]
        reached = sum(run.num_drafts if depth == 0 else run.accepted_per_pos[depth - 1] for run in deep)
        rates.append(sum(run.accepted_per_pos[depth] for run in deep) / reached if reached else 0.0)
    return rates


def _recorded(sessions: Sequence[TaggedSession], gamma: int | None, notes: list[str]) -> RoundCounts | None:
    if not sessions:
        return None
    deepest = max(deepest_round(session) for session in sessions)
    if gamma is not None and gamma < deepest:
        raise ValueError(f"--gamma is {gamma}, but a recorded round accepted {deepest} drafts: give its depth")
    counts = RoundCounts(gamma if gamma is not None else deepest)
    for session in sessions:
        counts.add(session)
    if not counts.rounds:
        notes.append("the recordings carry no rounds that fit their outputs: nothing by class")
    elif gamma is None:
        notes.append(f"draft depth of the recorded rounds taken as {deepest}, the most that one accepted: set --gamma")
    if counts.unusable:
        notes.append(f"{counts.unusable} attempts left out: their rounds do not add up to the output's tokens")
    return counts


def _by_class(base: AcceptanceProfile, counts: RoundCounts, date: str, notes: list[str]) -> AcceptanceProfile:
    source = f"{counts.rounds:,} recorded rounds of {counts.attempts:,} attempts"
    eps, conditional = dict(base.eps), dict(base.conditional)
    for label in SubClass:
        tested, hit = counts.tested[label], counts.hit[label]
        if not tested[0]:
            notes.append(f"no recorded round drafts {label.name} first: its eps stays {base.eps[label.name].source}")
            continue
        rate = float(hit[0] / tested[0])
        low, high = wilson(rate, float(tested[0]))
        eps[label.name] = Quantity(
            value=1 - rate, low=1 - high, high=1 - low, origin=Origin.MEASURED, source=source, date=date
        )
        reached = int(np.argmin(tested > 0)) if not tested.all() else len(tested)
        conditional[label.name] = tuple((hit[:reached] / tested[:reached]).tolist())
    return msgspec.structs.replace(
        base, name=f"measured: {source}", eps=eps, conditional=conditional, lag1=None, clipped=()
    )


def _with_kappa(
    profile: AcceptanceProfile, runs: Sequence[ServerRun], rho: Interval, origin: str, date: str
) -> AcceptanceProfile:
    fitted = [fitted_kappa(run, bound) for run in runs for bound in (rho.low, rho.value, rho.high) if 0 < bound < 1]
    run = max(runs, key=lambda one: one.num_drafts)
    value = fitted_kappa(run, rho.value)
    kappa = Quantity(
        value=value,
        low=min(fitted),
        high=max(fitted),
        origin=Origin.DERIVED,
        source=f"eps_bar of {run.source} over 1 - rho_bar, rho_bar {rho.value:.4g} {origin}",
        date=date,
    )
    return msgspec.structs.replace(profile, kappa=kappa)


def _cost(runs: Sequence[ServerRun], notes: list[str]) -> FittedCost | None:
    timed = [run for run in runs if run.tpot_s is not None]
    if not any(run.gamma for run in timed):
        return None
    try:
        cost: RoundCost = fitted_round_cost(timed)
    except ValueError as error:
        notes.append(f"no round cost: {error}")
        return None
    return FittedCost(
        c_T_ms=cost.c_T_s * 1e3,
        o=cost.o,
        delta_plus_d=cost.delta_plus_d,
        largest_residual=cost.largest_residual,
        runs=len(timed),
    )
