"""From entropies of token logprobs to kappa, to a profile, and to what contradicts them."""

from __future__ import annotations

import msgspec
import numpy as np

from scenarios.answer import Interval
from scenarios.calibration.counterfits import check_rho_bar, eps_bar
from scenarios.calibration.logprobfit import LogprobFigures
from scenarios.calibration.recordedrounds import RoundCounts
from scenarios.calibration.serverfigures import SourceFigures
from simulator.intervals import wilson
from simulator.origin import Origin
from simulator.profile import LABELS_OF, AcceptanceProfile, with_kappa_rho
from tokenclass.classes import CLASS_OF_SUBCLASS, PositionClass, SubClass


class FittedKappa(msgspec.Struct, frozen=True, kw_only=True):
    """Kappa = eps / (1 - rho) of one class, of all (label "all") or of a server's whole traffic (its source)."""

    label: str
    kappa: Interval
    eps: float
    rho: float
    n: int
    """First drafts that eps is measured on, or rounds of a server."""


def kappas(figures: LogprobFigures, counts: RoundCounts | None) -> list[FittedKappa]:
    """Kappa of each class whose first drafts *counts* has, and of all of them; none without recorded rounds."""
    if counts is None or not counts.rounds:
        return []
    rho = {one.label: one.rho for one in figures.classes}
    sums = {label: _first_drafts(counts, label) for label in PositionClass}
    found = [_kappa(label.name, rho[label.name], *sums[label]) for label in PositionClass if label.name in rho]
    together = _kappa("all", figures.rho_bar, *map(float, np.sum(list(sums.values()), axis=0)))
    return [one for one in (*found, together) if one is not None]


def server_kappa(figures: SourceFigures, rho: Interval) -> FittedKappa:
    """Kappa of a server's traffic of mean predictability *rho*.

    eps is that of the constant acceptance with the server's acceptance length. Raises ValueError at a rho of 0 or 1,
    where any kappa fits.
    """
    check_rho_bar(rho.value)
    length = figures.acceptance_length
    eps, least, most = (eps_bar(one, figures.gamma) for one in (length.value, length.high, length.low))
    return FittedKappa(
        label=figures.source,
        kappa=Interval(eps / (1 - rho.value), least / (1 - rho.low), most / max(1 - rho.high, 1e-9)),
        eps=eps,
        rho=rho.value,
        n=figures.rounds,
    )


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
    classes = {one.label: one for one in figures.classes}
    changed = with_kappa_rho(base, kappa, {label: one.rho.value for label, one in classes.items()}, source)
    eps = dict(changed.eps)
    for label in SubClass:
        found = classes.get(CLASS_OF_SUBCLASS[label].name)
        if found is not None:
            low, high = (min(1.0, kappa * (1 - bound)) for bound in (found.rho.high, found.rho.low))
            eps[label.name] = msgspec.structs.replace(
                eps[label.name], low=low, high=high, origin=Origin.DERIVED, date=date, n=found.tokens
            )
    return msgspec.structs.replace(changed, name=f"derived: {source}", eps=eps, kappa=base.kappa)


def _first_drafts(counts: RoundCounts, label: PositionClass) -> tuple[float, float]:
    """First drafts of tokens of a class: how many, and how many of them were accepted."""
    members = list(LABELS_OF[label.name])
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
