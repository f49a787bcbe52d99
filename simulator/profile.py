"""Acceptance parameters of a draft-target pair, each with its spread and origin, and the models they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TypeVar

import msgspec
import numpy as np

from simulator import law
from simulator.acceptance.base import F64
from simulator.acceptance.correlated import PersistentAcceptance
from simulator.acceptance.table import TableAcceptance, alpha_of_acceptance_length
from simulator.acceptance.threshold import ThresholdModel
from simulator.intervals import wilson
from simulator.origin import Origin
from tokenclass.classes import CLASS_OF_SUBCLASS, PositionClass, SubClass

V = TypeVar("V")

LABELS_OF: dict[str, tuple[SubClass, ...]] = {label.name: (label,) for label in SubClass} | {
    one.name: tuple(label for label in SubClass if CLASS_OF_SUBCLASS[label] is one) for one in PositionClass
}
"""The sub-classes that a name stands for: a sub-class or a whole class."""


class Case(StrEnum):
    """Which end of each parameter's spread to take."""

    BEST = "best"
    """Highest acceptance."""
    CENTRAL = "central"
    WORST = "worst"
    """Lowest acceptance."""


class Quantity(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A value, the range it plausibly lies in, and who says so. Raises ValueError unless low <= value <= high."""

    value: float
    low: float
    high: float
    origin: Origin
    source: str
    date: str = ""
    """ISO date on which the source was read; empty where it has none."""
    n: int | None = None
    """Observations behind a measured value."""

    def __post_init__(self) -> None:
        if not self.low <= self.value <= self.high:
            raise ValueError(f"value {self.value} is outside its own range {self.low}..{self.high}")


class AcceptanceProfile(msgspec.Struct, frozen=True, kw_only=True):
    """Acceptance of one draft-target pair by sub-class.

    Raises ValueError unless *eps* has each sub-class by name and all probabilities are within 0..1.
    """

    name: str
    kappa: Quantity
    eps: dict[str, Quantity]
    """Mismatch probability of the first draft, by sub-class."""
    conditional: dict[str, tuple[float, ...]] = {}
    """Acceptance per draft depth, those before accepted, by sub-class; it replaces 1 - eps where it stands."""
    lag1: Quantity | None = None
    """Lag-1 autocorrelation of acceptance within a class; None: independent."""
    clipped: tuple[str, ...] = ()
    """Sub-classes whose kappa (1 - rho) exceeded 1 and was cut to it."""

    def __post_init__(self) -> None:
        if sorted(self.eps) != sorted(label.name for label in SubClass):
            raise ValueError(
                f"profile {self.name}: eps needs exactly the sub-classes {', '.join(SubClass.__members__)}"
            )
        for label, quantity in self.eps.items():
            if not 0 <= quantity.low <= quantity.high <= 1:
                raise ValueError(f"profile {self.name}: eps of {label} leaves 0..1")

    def eps_of(self, case: Case = Case.CENTRAL) -> tuple[float, ...]:
        """Mismatch probability of a first draft per sub-class, in the order of SubClass."""
        picked = {Case.BEST: "low", Case.CENTRAL: "value", Case.WORST: "high"}[case]
        return tuple(float(getattr(self.eps[label.name], picked)) for label in SubClass)

    def rho_of(self, case: Case = Case.CENTRAL) -> tuple[float, ...]:
        """Predictability 1 - eps / kappa per sub-class, derived; 1 everywhere at kappa 0."""
        kappa = self.kappa.value
        return tuple(1 - eps / kappa if kappa > 0 else 1.0 for eps in self.eps_of(case))

    def table(self, case: Case = Case.CENTRAL) -> TableAcceptance:
        """Acceptance by sub-class and depth. The spread of eps shifts depth lists by as much, within 0..1."""
        depths = max((len(rates) for rates in self.conditional.values()), default=1)
        rows = []
        for label, eps, central in zip(SubClass, self.eps_of(case), self.eps_of(), strict=True):
            rates = self.conditional.get(label.name, (1 - central,))
            rows.append([rate + central - eps for rate in (*rates, *rates[-1:] * (depths - len(rates)))])
        return TableAcceptance(np.clip(np.array(rows, dtype=np.float64), 0.0, 1.0))

    def model(self, case: Case = Case.CENTRAL) -> ThresholdModel:
        """The acceptance model that this profile describes."""
        if self.lag1 is None or self.lag1.value == 0:
            return self.table(case)
        return PersistentAcceptance(self.table(case), self.lag1.value)

    def class_eps(self, counts: Sequence[float] | F64, case: Case = Case.CENTRAL) -> dict[PositionClass, float | None]:
        """Mean eps of each class when its tokens fall to sub-classes as *counts*; None for a class without tokens."""
        sums = {one: [0.0, 0.0] for one in PositionClass}
        for owner, eps, count in zip(CLASS_OF_SUBCLASS, self.eps_of(case), counts, strict=True):
            sums[owner][0] += eps * count
            sums[owner][1] += count
        return {one: total / count if count else None for one, (total, count) in sums.items()}


def with_eps(profile: AcceptanceProfile, eps: Mapping[str, float], source: str = "given") -> AcceptanceProfile:
    """*profile* with mismatch probabilities replaced by name; a class sets all its sub-classes, finer names win.

    Raises ValueError for an unknown name or a value outside 0..1. Depth lists of the replaced labels go.
    """
    fixed = {label: _declared(value, source) for label, value in _by_subclass(eps).items()}
    kept = {label: rates for label, rates in profile.conditional.items() if label not in fixed}
    clipped = tuple(label for label in profile.clipped if label not in fixed)
    return msgspec.structs.replace(profile, eps=profile.eps | fixed, conditional=kept, clipped=clipped)


def with_kappa_rho(
    profile: AcceptanceProfile, kappa: float, rho: Mapping[str, float], source: str = "given"
) -> AcceptanceProfile:
    """*profile* with eps = kappa (1 - rho) for the names in *rho*; `clipped` names those cut to 1."""
    found = {label: law.eps(kappa, value) for label, value in _by_subclass(rho).items()}
    changed = with_eps(profile, {label: one.value for label, one in found.items()}, f"{source}: kappa (1 - rho)")
    clipped = tuple(sorted({*changed.clipped, *(label for label, one in found.items() if one.clipped)}))
    return msgspec.structs.replace(changed, kappa=_declared(kappa, source), clipped=clipped)


def with_conditional(
    profile: AcceptanceProfile, conditional: Mapping[str, Sequence[float]], source: str = "given"
) -> AcceptanceProfile:
    """*profile* with acceptance per draft depth for the names given, and eps that of the first depth."""
    lists = {label: tuple(rates) for label, rates in _by_subclass(conditional).items()}
    for label, rates in lists.items():
        if not rates or not all(0 <= rate <= 1 for rate in rates):
            raise ValueError(f"acceptance per depth of {label}: give rates within 0..1, one at least")
    changed = with_eps(profile, {label: 1 - rates[0] for label, rates in lists.items()}, source)
    return msgspec.structs.replace(changed, conditional=changed.conditional | lists)


def with_acceptance_length(
    profile: AcceptanceProfile, acceptance_length: float, gamma: int, source: str = "given"
) -> AcceptanceProfile:
    """*profile* with one eps for all labels, whose rounds of *gamma* drafts emit *acceptance_length* tokens."""
    eps = 1 - alpha_of_acceptance_length(acceptance_length, gamma)
    return with_eps(profile, {one.name: eps for one in PositionClass}, f"{source}: mean acceptance length")


def with_counts(
    profile: AcceptanceProfile, tested: Sequence[float] | F64, hit: Sequence[float] | F64, source: str, date: str = ""
) -> AcceptanceProfile:
    """*profile* with eps measured: drafts checked (*tested*) and accepted (*hit*) per sub-class, by SubClass value.

    The spread is the 95 % Wilson interval, which takes drafts as independent. Labels never tested keep their eps.
    """
    measured = {}
    for label, checks, right in zip(SubClass, tested, hit, strict=True):
        if checks > 0:
            value = float((checks - right) / checks)
            low, high = wilson(value, checks)
            measured[label.name] = Quantity(
                value=value, low=low, high=high, origin=Origin.MEASURED, source=source, date=date, n=round(checks)
            )
    kept = {label: rates for label, rates in profile.conditional.items() if label not in measured}
    return msgspec.structs.replace(profile, eps=profile.eps | measured, conditional=kept)


def _by_subclass(values: Mapping[str, V]) -> dict[str, V]:
    unknown = sorted(set(values) - set(LABELS_OF))
    if unknown:
        raise ValueError(f"unknown class {unknown[0]!r}: use one of {', '.join(LABELS_OF)}")
    coarse_first = sorted(values, key=lambda name: -len(LABELS_OF[name]))
    return {label.name: values[name] for name in coarse_first for label in LABELS_OF[name]}


def _declared(value: float, source: str) -> Quantity:
    return Quantity(value=value, low=value, high=value, origin=Origin.DECLARED, source=source)
