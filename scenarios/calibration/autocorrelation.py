"""Lag-1 autocorrelation of acceptance from recorded rounds, and the profile that has it in place of depth lists."""

from __future__ import annotations

from math import sqrt

import msgspec

from scenarios.answer import Interval
from scenarios.calibration.recordedrounds import RoundCounts
from simulator.intervals import Z_95
from simulator.origin import Origin
from simulator.profile import AcceptanceProfile, Quantity
from tokenclass.classes import SubClass


class Autocorrelation(msgspec.Struct, frozen=True, kw_only=True):
    """How far the fate of a draft tells that of the next token's, both of one sub-class, or of any (label "all").

    Formula: lag1 = P(accepted | the one before accepted) - P(accepted | it refused), as in a two-state chain, whose
    mean acceptance over positions is P(a | r) / (1 - lag1). Acceptance that falls with depth lowers it: a draft after
    an accepted one is deeper than one after a refusal, which starts a round.
    """

    label: str
    lag1: Interval
    mean: float
    """Acceptance over all positions, not only those that rounds check."""
    n: int
    """Pairs of neighbouring drafts."""


def autocorrelations(counts: RoundCounts | None) -> list[Autocorrelation]:
    """Of each sub-class with drafts after both fates, then of all together: the mean weighted by precision."""
    if counts is None:
        return []
    found, weights = [], []
    for label in SubClass:
        (refused_no, refused_yes), (accepted_no, accepted_yes) = counts.after[label]
        refused, accepted = refused_no + refused_yes, accepted_no + accepted_yes
        if not refused or not accepted:
            continue
        # Agresti and Caffo (2000): a trial of each outcome more keeps the error above 0 at shares of 0 and 1
        error = sqrt(
            sum((y + 1) * (n - y + 1) / (n + 2) ** 3 for y, n in ((refused_yes, refused), (accepted_yes, accepted)))
        )
        restart = refused_yes / refused
        lag1 = accepted_yes / accepted - restart
        mean = restart / (1 - lag1) if lag1 < 1 else accepted_yes / accepted
        n = round(refused + accepted)
        found.append(Autocorrelation(label=label.name, lag1=_interval(lag1, error), mean=mean, n=n))
        weights.append(1 / error**2)
    if not found:
        return []
    total, n = sum(weights), sum(one.n for one in found)
    pooled = sum(one.lag1.value * weight for one, weight in zip(found, weights, strict=True)) / total
    mean = sum(one.mean * one.n for one in found) / n
    return [*found, Autocorrelation(label="all", lag1=_interval(pooled, 1 / sqrt(total)), mean=mean, n=n)]


def persistent(profile: AcceptanceProfile, found: list[Autocorrelation], source: str, date: str) -> AcceptanceProfile:
    """*profile* with each sub-class's mean over positions and one lag-1 autocorrelation, in place of depth lists.

    Raises ValueError where there is none to take, or it is surely below 0, which no such chain has.
    """
    if not found:
        raise ValueError("no recorded round has drafts after both an accepted and a refused one: no autocorrelation")
    lag1 = found[-1].lag1
    if lag1.high < 0:
        raise ValueError(
            f"autocorrelation is {lag1.value:.3f}, surely below 0: acceptance falls with depth, keep lists"
        )
    means = {one.label: one for one in found[:-1]}
    eps = {}
    for label, quantity in profile.eps.items():
        if label in means:
            wrong = 1 - means[label].mean
            half = (quantity.high - quantity.low) / 2
            eps[label] = msgspec.structs.replace(
                quantity,
                value=wrong,
                low=max(0.0, wrong - half),
                high=min(1.0, wrong + half),
                source=f"{source}; mean over positions",
                n=means[label].n,
            )
    value = max(0.0, lag1.value)
    quantity = Quantity(
        value=value,
        low=max(0.0, lag1.low),
        high=max(value, lag1.high),
        origin=Origin.MEASURED,
        source=source,
        date=date,
        n=found[-1].n,
    )
    kept = {label: rates for label, rates in profile.conditional.items() if label not in means}
    return msgspec.structs.replace(profile, eps=profile.eps | eps, conditional=kept, lag1=quantity)


def _interval(value: float, error: float) -> Interval:
    return Interval(value, max(-1.0, value - Z_95 * error), min(1.0, value + Z_95 * error))
