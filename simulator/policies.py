"""How many tokens a round may draft: rules by label, by batch size and by the draft's confidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np

from simulator.acceptance.base import I16, AcceptanceModel, Outputs, Potential
from simulator.acceptance.recorded import Attempts
from simulator.acceptance.threshold import ThresholdModel
from simulator.law import best_gamma
from tokenclass.classes import N_SUBCLASSES, SubClass


class DraftPolicy(Protocol):
    """A rule that cuts rounds by where they start."""

    def limits(self, outputs: Outputs, gamma: int) -> I16:
        """Most drafts of a round that starts at each token, at most *gamma*."""
        ...


@dataclass(frozen=True, slots=True)
class PolicyAcceptance:
    """*model* with its rounds cut by *policy*."""

    model: AcceptanceModel
    policy: DraftPolicy

    def potential(self, outputs: Outputs, gamma: int) -> Potential:
        """Outcome of a round from every token under the policy."""
        return self.model.potential(outputs, gamma).cut(self.policy.limits(outputs, gamma))


@dataclass(frozen=True, slots=True)
class Strictest:
    """Several rules at once: the one that drafts least counts."""

    policies: tuple[DraftPolicy, ...]

    def limits(self, outputs: Outputs, gamma: int) -> I16:
        """The least of the limits."""
        least: I16 = np.full(len(outputs.labels), gamma, dtype=np.int16)
        for policy in self.policies:
            np.minimum(least, policy.limits(outputs, gamma), out=least)
        return least


@dataclass(frozen=True, slots=True)
class GammaByLabel:
    """A draft depth per sub-class of the last token before the round: what an engine can know when it drafts.

    An output's first token counts as following free prose. Raises ValueError unless there is one depth >= 0 each.
    """

    gamma: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.gamma) != N_SUBCLASSES or min(self.gamma) < 0:
            raise ValueError(f"draft depths {self.gamma}: give {N_SUBCLASSES} of 0 or more, in the order of SubClass")

    def limits(self, outputs: Outputs, gamma: int) -> I16:
        """The depth of the label before each token."""
        before = np.roll(outputs.labels, 1)
        before[outputs.position == 0] = SubClass.F
        return np.minimum(np.array(self.gamma, dtype=np.int16)[before], np.int16(gamma))


@dataclass(frozen=True, slots=True, eq=False)
class GammaByTool:
    """A draft depth within the calls of some tools, and the rule *elsewhere*.

    *depth* has a value per observed token, for a round that starts there: -1 where *elsewhere* rules.
    """

    elsewhere: DraftPolicy
    attempts: Attempts
    depth: I16

    def limits(self, outputs: Outputs, gamma: int) -> I16:
        """The depth of the call that the token before stands in."""
        own = self.depth[self.attempts.tokens_of(outputs)]
        return np.minimum(np.where(own < 0, self.elsewhere.limits(outputs, gamma), own), np.int16(gamma))


def by_labels_alone(policy: DraftPolicy | None) -> DraftPolicy | None:
    """*policy* without what it knows of recorded calls, for outputs that were never recorded."""
    if isinstance(policy, GammaByTool):
        return policy.elsewhere
    if isinstance(policy, Strictest):
        return Strictest(tuple(by_labels_alone(one) or one for one in policy.policies))
    return policy


def best_gamma_by_label(
    eps: Sequence[float], gammas: Sequence[int], delta: float, d: float, o: float = 0.0
) -> GammaByLabel:
    """The depth that the law rates best for each sub-class as if the whole output were of it; 0 where all lose."""
    return GammaByLabel(tuple(best_gamma(value, [0, *gammas], delta, d, o).gamma for value in eps))


@dataclass(frozen=True, slots=True)
class ConfidenceStop:
    """Drafting stops before a token whose chance of being reached and accepted is below *threshold*.

    The chance is *model*'s own, so this is a drafter that judges itself without error: an upper bound on what a
    confidence rule saves. Raises ValueError unless 0 <= *threshold* <= 1.
    """

    model: ThresholdModel
    threshold: float

    def __post_init__(self) -> None:
        if not 0 <= self.threshold <= 1:
            raise ValueError(f"confidence threshold {self.threshold} is outside 0..1")

    def limits(self, outputs: Outputs, gamma: int) -> I16:
        """Drafts from each token on before the chance falls below the threshold; the output's end does not stop it."""
        tokens = len(outputs.labels)
        chance = np.ones(tokens)
        count = np.zeros(tokens, dtype=np.int16)
        going = np.ones(tokens, dtype=np.bool_)
        for depth in range(gamma):
            inside = outputs.left > depth
            ahead = self.model.accept_at(outputs, depth)[depth:]
            chance[: len(ahead)] *= np.where(inside[: len(ahead)], ahead, 1.0)
            going &= chance >= self.threshold
            count += going
        return count


@dataclass(frozen=True, slots=True)
class GammaByBatchSize:
    """vLLM's num_speculative_tokens_per_batch_size: rows (lowest batch size, highest, draft depth).

    A batch size in no row drafts nothing. Raises ValueError for rows that overlap or run backwards.
    """

    rows: tuple[tuple[int, int, int], ...]

    def __post_init__(self) -> None:
        ordered = sorted(self.rows)
        for low, high, gamma in ordered:
            if not 1 <= low <= high or gamma < 0:
                raise ValueError(f"row {(low, high, gamma)}: give 1 <= low <= high and a depth of 0 or more")
        for (_, high, _), (low, _, _) in pairwise(ordered):
            if low <= high:
                raise ValueError(f"rows for batch sizes up to {high} and from {low} overlap")

    def gamma(self, batch_size: int) -> int:
        """Draft depth for a step with *batch_size* running requests."""
        return next((gamma for low, high, gamma in self.rows if low <= batch_size <= high), 0)
