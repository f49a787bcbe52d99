"""Acceptance profiles from counters of servers and from recorded rounds."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from scenarios.calibration.logprobkappa import FittedKappa
from scenarios.calibration.recordedrounds import RoundCounts
from scenarios.calibration.serverfigures import SourceFigures
from scenarios.server.run import ServerRun
from simulator.intervals import wilson
from simulator.origin import Origin
from simulator.profile import AcceptanceProfile, Quantity, with_counts
from tokenclass.classes import SubClass


def by_depth(
    base: AcceptanceProfile, runs: Sequence[ServerRun], figures: Sequence[SourceFigures], date: str, *, agree: bool
) -> AcceptanceProfile:
    """*base* with the same acceptance per depth for all labels; sources that do not *agree* widen the spread.

    Agreeing sources are pooled by rounds. Contradicting ones are not: the one of most rounds gives the values.
    """
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
        n=round(sum(run.num_drafts for run in chosen)),
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


def by_class(base: AcceptanceProfile, counts: RoundCounts, date: str, notes: list[str]) -> AcceptanceProfile:
    """*base* with acceptance per depth by sub-class as recorded rounds have it; *notes* gets labels without rounds."""
    source = f"{counts.rounds:,} recorded rounds of {counts.attempts:,} attempts"
    conditional = dict(base.conditional)
    for label in SubClass:
        tested, hit = counts.tested[label], counts.hit[label]
        if not tested[0]:
            notes.append(f"no recorded round drafts {label.name} first: its eps stays {base.eps[label.name].source}")
            continue
        reached = int(np.argmin(tested > 0)) if not tested.all() else len(tested)
        conditional[label.name] = tuple((hit[:reached] / tested[:reached]).tolist())
    counted = with_counts(base, counts.tested[:, 0], counts.hit[:, 0], source, date)
    return msgspec.structs.replace(counted, name=f"measured: {source}", conditional=conditional, lag1=None, clipped=())


def with_kappa(profile: AcceptanceProfile, found: Sequence[FittedKappa], source: str, date: str) -> AcceptanceProfile:
    """*profile* with kappa as the one of *found* with most rounds has it; the spread takes in all of them."""
    best = max(found, key=lambda one: one.n)
    kappa = Quantity(
        value=best.kappa.value,
        low=min(one.kappa.low for one in found),
        high=max(one.kappa.high for one in found),
        origin=Origin.DERIVED,
        source=f"eps_bar of {best.label} over 1 - rho_bar, rho_bar {best.rho:.4g} {source}",
        date=date,
        n=best.n,
    )
    return msgspec.structs.replace(profile, kappa=kappa)
