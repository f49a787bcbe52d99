"""Acceptance by label and draft depth, independent from draft to draft."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from simulator.acceptance.base import F64, Outputs, check_gamma
from simulator.acceptance.threshold import ThresholdModel
from simulator.law import tau
from simulator.roots import find_root
from tokenclass.classes import CLASS_OF_SUBCLASS, N_SUBCLASSES, PositionClass, SubClass


@dataclass(frozen=True, slots=True)
class TableAcceptance(ThresholdModel):
    """Acceptance probabilities ``table[label, depth]``; depths beyond the table use its last column.

    Raises ValueError unless the table has a row for each sub-class, a column at least, and values within 0..1.
    """

    table: F64

    def __post_init__(self) -> None:
        if self.table.ndim != 2 or self.table.shape[0] != N_SUBCLASSES or self.table.shape[1] == 0:
            raise ValueError(f"acceptance table of shape {self.table.shape}: give {N_SUBCLASSES} rows and a column")
        if not np.all((self.table >= 0) & (self.table <= 1)):
            raise ValueError("acceptance probabilities must be within 0..1")

    @property
    def own_depths(self) -> int:
        """Columns of the table."""
        return int(self.table.shape[1])

    def accept_at(self, outputs: Outputs, depth: int) -> F64:
        """Probability per token, looked up by label and *depth*."""
        column: F64 = self.table[:, min(depth, self.table.shape[1] - 1)]
        return column[outputs.labels]


def from_eps(eps: Sequence[float]) -> TableAcceptance:
    """Independent acceptance 1 - eps, one mismatch probability per sub-class in the order of SubClass."""
    return TableAcceptance(1 - np.asarray(eps, dtype=np.float64).reshape(-1, 1))


def from_eps_by_class(
    eps: Mapping[PositionClass, float], subclasses: Mapping[SubClass, float] | None = None
) -> TableAcceptance:
    """Independent acceptance 1 - eps by class; *subclasses* overrides single sub-classes."""
    finer = subclasses or {}
    return from_eps([finer.get(label, eps[CLASS_OF_SUBCLASS[label]]) for label in SubClass])


def from_conditional(
    pooled: Sequence[float], by_class: Mapping[PositionClass, Sequence[float]] | None = None
) -> TableAcceptance:
    """Acceptance per draft depth, given that the drafts before were accepted; *by_class* overrides whole classes.

    A list shorter than the longest is continued with its last value.
    """
    lists = [list((by_class or {}).get(CLASS_OF_SUBCLASS[label], pooled)) for label in SubClass]
    if not all(lists):
        raise ValueError("an acceptance list is empty: give the rate of one depth at least")
    depths = max(len(one) for one in lists)
    return TableAcceptance(np.array([one + one[-1:] * (depths - len(one)) for one in lists], dtype=np.float64))


def conditional_of_survival(survival: Sequence[float]) -> list[float]:
    """Conditional rates of unconditional per-position rates, the form that vLLM prints.

    Raises ValueError if the rates rise or leave 0..1. Depths after one that is never reached get 0.
    """
    before, rates = 1.0, []
    for depth, value in enumerate(survival, start=1):
        if not 0 <= value <= before:
            raise ValueError(f"per-position rate {value} at position {depth} exceeds {before} or is below 0")
        rates.append(value / before if before > 0 else 0.0)
        before = value
    return rates


def from_survival(survival: Sequence[float]) -> TableAcceptance:
    """Acceptance from vLLM's unconditional per-position rates, the same for all labels."""
    return from_conditional(conditional_of_survival(survival))


def from_acceptance_length(acceptance_length: float, gamma: int) -> TableAcceptance:
    """Independent acceptance, the same for all labels, whose rounds emit *acceptance_length* tokens at *gamma*."""
    return from_conditional([alpha_of_acceptance_length(acceptance_length, gamma)])


def alpha_of_acceptance_length(acceptance_length: float, gamma: int) -> float:
    """The acceptance probability alpha whose 1 + alpha + ... + alpha^gamma is *acceptance_length*.

    Raises ValueError unless 1 <= *acceptance_length* <= gamma + 1 and gamma >= 1.
    """
    check_gamma(gamma)
    if gamma == 0 or not 1 <= acceptance_length <= gamma + 1:
        raise ValueError(f"acceptance length {acceptance_length} needs 1..gamma + 1 and gamma >= 1, not {gamma}")
    wanted = acceptance_length - 1
    return find_root(lambda alpha: tau(1 - alpha, gamma) - wanted, 0.0, 1.0, xtol=1e-15)
