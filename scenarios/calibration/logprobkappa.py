"""From entropies of token logprobs to kappa, to a profile, and to what contradicts them."""

from __future__ import annotations

import msgspec
import numpy as np

from scenarios.answer import Interval
from scenarios.calibration.logprobfit import LogprobFigures
from scenarios.calibration.recordedrounds import RoundCounts
from simulator.intervals import wilson
from simulator.origin import Origin
from simulator.profile import AcceptanceProfile, with_kappa_rho
from tokenclass.classes import CLASS_OF_SUBCLASS, PositionClass, SubClass


class FittedKappa(msgspec.Struct, frozen=True, kw_only=True):
    """Kappa = eps / (1 - rho) of one class, or of all (label "all"): rho of the logprobs, eps of measured drafts."""

    label: str
    kappa: Interval
    eps: float
    rho: float
    n: int
    """Drafts that eps is measured on."""


def kappas(figures: LogprobFigures, counts: RoundCounts | None) -> list[FittedKappa]:
    """Kappa of each class whose first drafts *counts* has, and of all of them; none without recorded rounds."""
    if counts is None or not counts.rounds:
        return []
    rho = {one.label: one.rho for one in figures.classes}
    sums = {label: _first_drafts(counts, label) for label in PositionClass}
    found = [_kappa(label.name, rho[label.name], *sums[label]) for label in PositionClass if label.name in rho]
    together = _kappa("all", figures.rho_bar, *map(float, np.sum(list(sums.values()), axis=0)))
    return [one for one in (*found, together) if one is not None]


def too_good(figures: LogprobFigures, counts: RoundCounts | None) -> list[str]:
    """Classes whose recorded drafts are accepted more often than the likeliest token is generated."""
    if counts is None:
        return []
    found = []
    for one in figures.classes:
        tested, hit = _first_drafts(counts, PositionClass[one.label])
        if tested and wilson(hit / tested, tested)[0] > one.likeliest.high:
            found.append(
                f"class {one.label}: {hit / tested:.3f} of the first drafts were accepted (n {tested:,.0f}), the "
                f"likeliest token has probability {one.likeliest.value:.3f} on average: another temperature or target"
            )
    return found


def other_rho_bar(figures: LogprobFigures, rho_bar: float | None) -> list[str]:
    """Whether *rho_bar*, as given, lies outside what the logprobs allow."""
    found = figures.rho_bar
    if rho_bar is None or found.low <= rho_bar <= found.high:
        return []
    text = f"the token logprobs give {found.value:.3f} ({found.low:.3f} to {found.high:.3f}): the one given is used"
    return [f"--rho-bar is {rho_bar:g}, {text}"]


def profile_of(base: AcceptanceProfile, figures: LogprobFigures, date: str) -> AcceptanceProfile:
    """*base* with eps = kappa (1 - rho) at its own kappa and the rho of *figures*; their range is that of rho."""
    kappa = base.kappa.value
    source = f"{figures.tokens:,} token logprobs of {figures.outputs:,} outputs, kappa {kappa:g} of {base.name}"
    changed = with_kappa_rho(base, kappa, {one.label: one.rho.value for one in figures.classes}, source)
    rho = {one.label: one.rho for one in figures.classes}
    eps = dict(changed.eps)
    for label in SubClass:
        found = rho.get(CLASS_OF_SUBCLASS[label].name)
        if found is not None:
            low, high = (min(1.0, kappa * (1 - bound)) for bound in (found.high, found.low))
            eps[label.name] = msgspec.structs.replace(
                eps[label.name], low=low, high=high, origin=Origin.DERIVED, date=date
            )
    return msgspec.structs.replace(changed, name=f"derived: {source}", eps=eps, kappa=base.kappa)


def _first_drafts(counts: RoundCounts, label: PositionClass) -> tuple[float, float]:
    """First drafts of tokens of a class: how many, and how many of them were accepted."""
    members = [one for one in SubClass if CLASS_OF_SUBCLASS[one] is label]
    return float(counts.tested[members, 0].sum()), float(counts.hit[members, 0].sum())


def _kappa(label: str, rho: Interval, tested: float, hit: float) -> FittedKappa | None:
    if not tested or rho.value >= 1:
        return None
    low, high = wilson(1 - hit / tested, tested)
    eps = 1 - hit / tested
    most = high / max(1 - rho.high, 1e-9)
    return FittedKappa(
        label=label,
        kappa=Interval(eps / (1 - rho.value), low / (1 - rho.low), most),
        eps=eps,
        rho=rho.value,
        n=round(tested),
    )
