"""From what servers and recordings report to an acceptance profile, with intervals, origins and contradictions."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from scenarios.answer import Interval
from scenarios.calibration.autocorrelation import Autocorrelation, autocorrelations, persistent
from scenarios.calibration.costfit import FittedCost, fitted_cost
from scenarios.calibration.counterfits import hit_share
from scenarios.calibration.depthrates import ClassDepth, class_depths
from scenarios.calibration.logprobfit import LogprobFigures
from scenarios.calibration.logprobkappa import (
    FittedKappa,
    kappas,
    other_rho_bar,
    profile_of,
    server_kappa,
    too_good,
)
from scenarios.calibration.profilefit import by_class, by_depth, with_kappa
from scenarios.calibration.recordedrounds import RoundCounts, deepest_round
from scenarios.calibration.serverfigures import SourceFigures, contradictions, source_figures
from scenarios.server.run import Drafting, ServerRun
from simulator.profile import AcceptanceProfile
from tokenclass.tagged import TaggedSession

DEFINITIONS = {
    "draft acceptance rate": "accepted draft tokens / drafted tokens",
    "acceptance length": "1 + accepted draft tokens / rounds that drafted; the 1 is the target's own (bonus) token",
    "per position": "rounds that accepted draft number i / rounds that drafted; unconditional: it falls with i",
    "per depth": "rounds that accepted number i / rounds that accepted number i - 1; what a profile holds",
    "rho": "exp(-H), H the mean next-token entropy in nats of the class; its bounds where only the likeliest are known",
    "kappa": "eps / (1 - rho), eps the share of first drafts that are refused",
    "lag1": "P(draft accepted | the one a token before accepted) - P(accepted | it refused), one sub-class",
    "round cost": "c_T (1 + o + gamma (delta + d)); c_T is c_1, the time per token without speculation",
    "interval": "95 %: over requests where the source has them, else Wilson's, which takes rounds as independent",
}


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
    depths: list[ClassDepth]
    """By class and sub-class, from recorded rounds."""
    autocorrelation: list[Autocorrelation]
    profile: AcceptanceProfile | None
    """None where no input reports acceptance or predictability."""


def calibrate(
    base: AcceptanceProfile,
    runs: Sequence[ServerRun],
    sessions: Sequence[TaggedSession] = (),
    *,
    date: str = "",
    gamma: int | None = None,
    rho_bar: float | None = None,
    logprobs: LogprobFigures | None = None,
    parameter_ratio: float | None = None,
    correlated: bool = False,
) -> Calibration:
    """The profile *base* with acceptance as *runs* and the recorded rounds of *sessions* have it.

    *gamma* is the draft depth of the recorded rounds, the deepest one seen if None; *rho_bar* the traffic's mean
    predictability, which kappa is fitted with, that of *logprobs* if None; *parameter_ratio*, draft over target, gives
    eta. With *correlated* the profile has means over positions and their autocorrelation in place of lists by depth.
    Raises ValueError for figures that cannot be used.
    """
    notes: list[str] = []
    drafting = [run for run in runs if run.num_drafts and run.drafting is Drafting.MODEL]
    figures = [source_figures(run) for run in drafting]
    found = contradictions(figures)
    profile = by_depth(base, drafting, figures, date, agree=not found) if drafting else None
    counts = _recorded(sessions, gamma, notes)
    chains = autocorrelations(counts)
    if counts is not None and counts.rounds:
        profile = by_class(profile or base, counts, date, notes)
    if correlated:
        profile = persistent(profile or base, chains, "neighbouring drafts of recorded rounds", date)
    if logprobs is not None:
        found += [*logprobs.problems, *too_good(logprobs, counts), *other_rho_bar(logprobs, rho_bar)]
        profile = profile or profile_of(base, logprobs, date)
    rho = _given(rho_bar) or (logprobs.rho_bar if logprobs is not None else None)
    fitted = [server_kappa(one, rho) for one in figures] if rho is not None else []
    if profile is not None and fitted:
        profile = with_kappa(profile, fitted, "given" if rho_bar is not None else "of the logprobs", date)
    return Calibration(
        definitions=DEFINITIONS,
        sources=figures,
        contradictions=found,
        notes=notes,
        cost=fitted_cost(runs, parameter_ratio, notes),
        hit_share=hit_share(runs),
        logprobs=logprobs,
        kappa=[*fitted, *(kappas(logprobs, counts) if logprobs is not None else [])],
        depths=class_depths(counts),
        autocorrelation=chains,
        profile=profile,
    )


def _given(rho_bar: float | None) -> Interval | None:
    return None if rho_bar is None else Interval(rho_bar, rho_bar, rho_bar)


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
