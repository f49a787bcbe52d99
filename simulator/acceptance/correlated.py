"""Acceptance that comes in stretches: spans that share a draw, and draws that persist from token to token."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from simulator.acceptance.base import F64, I64, Outputs
from simulator.acceptance.table import TableAcceptance
from simulator.acceptance.threshold import Exactness, ThresholdModel, uniform_per_token
from tokenclass.classes import CLASS_OF_SUBCLASS, N_SUBCLASSES

Bools = npt.NDArray[np.bool_]


class Unit(StrEnum):
    """What draws one acceptance of its own."""

    SPAN = "span"
    """A run of tokens of one class within an output."""
    ATTEMPT = "attempt"
    """A whole output: the spread between requests."""


@dataclass(frozen=True, slots=True)
class SpreadAcceptance(ThresholdModel):
    """Each *unit* draws its acceptance from a beta distribution about the table's mean m.

    *correlation* is that between any two drafts of a unit; the standard deviation of the draw is
    sqrt(correlation m (1 - m)). Within a unit drafts are independent; labels and depths share the unit's quantile, so
    an easy span is easy throughout. Raises ValueError unless 0 < *correlation* < 1.
    """

    mean: TableAcceptance
    correlation: float
    unit: Unit = Unit.SPAN

    def __post_init__(self) -> None:
        if not 0 < self.correlation < 1:
            raise ValueError(f"correlation {self.correlation} is not between 0 and 1: use the table alone for none")

    @property
    def exactness(self) -> Exactness:
        """Independent drafts once the units have drawn."""
        return Exactness.GIVEN_KEYS

    @property
    def own_depths(self) -> int:
        """Those of *mean*."""
        return self.mean.own_depths

    def accept_at(self, outputs: Outputs, depth: int) -> F64:
        """Probability per token under its unit's draw."""
        starts = self._unit_starts(outputs)
        quantile = uniform_per_token(outputs, "acceptance spread")[starts]
        unit: I64 = np.cumsum(starts) - 1
        cell, where = np.unique(unit * N_SUBCLASSES + outputs.labels, return_inverse=True)
        mean = self.mean.table[cell % N_SUBCLASSES, min(depth, self.mean.table.shape[1] - 1)]
        return _beta_quantile(mean, self.correlation, quantile[cell // N_SUBCLASSES])[where]

    def _unit_starts(self, outputs: Outputs) -> Bools:
        starts: Bools = outputs.position == 0
        if self.unit is Unit.SPAN:
            classes = np.array(CLASS_OF_SUBCLASS, dtype=np.uint8)[outputs.labels]
            starts[1:] |= classes[1:] != classes[:-1]
        return starts


@dataclass(frozen=True, slots=True)
class PersistentAcceptance(ThresholdModel):
    """Each token keeps the draw of the one before it with probability *lag1*, else draws afresh.

    The position average of each label is the table's; where the label does not change, acceptance is a two-state
    Markov chain of lag-1 autocorrelation *lag1*.
    """

    mean: TableAcceptance
    lag1: float

    def __post_init__(self) -> None:
        if not 0 <= self.lag1 < 1:
            raise ValueError(f"lag-1 autocorrelation {self.lag1} is outside 0 <= r < 1")

    @property
    def exactness(self) -> Exactness:
        """Drafts that depend on each other."""
        return Exactness.SAMPLED

    @property
    def own_depths(self) -> int:
        """Those of *mean*."""
        return self.mean.own_depths

    def accept_at(self, outputs: Outputs, depth: int) -> F64:
        """Probability per token, averaged over positions."""
        return self.mean.accept_at(outputs, depth)

    def latent(self, outputs: Outputs) -> F64:
        """Uniform numbers that persist: each token's is its own or the one before it."""
        fresh = (uniform_per_token(outputs, "acceptance persists") >= self.lag1) | (outputs.position == 0)
        source = np.maximum.accumulate(np.where(fresh, np.arange(len(fresh)), 0))
        return uniform_per_token(outputs, "acceptance")[source]


def correlation_of_sd(mean: float, sd: float) -> float:
    """The correlation of a spread given as the standard deviation *sd* of acceptance about *mean*."""
    if not 0 < mean < 1:
        raise ValueError(f"mean acceptance {mean} leaves no room for a spread: it must be between 0 and 1")
    return sd**2 / (mean * (1 - mean))


def _beta_quantile(mean: F64, correlation: float, quantile: F64) -> F64:
    """Quantiles of beta distributions with a + b = 1 / correlation - 1; a mean of 0 or 1 is itself."""
    inner = (mean > 0) & (mean < 1)
    from scipy.special import betaincinv  # here, since few replays need it and all would wait for its import

    concentration = 1 / correlation - 1
    values = mean.copy()
    values[inner] = betaincinv(mean[inner] * concentration, (1 - mean[inner]) * concentration, quantile[inner])
    return values
