"""Models that accept a draft where a number drawn for its position is below the draft's acceptance probability."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import StrEnum

import numpy as np

from simulator.acceptance.base import F64, I16, MAX_GAMMA, NOTHING_BESIDE, Beside, Outputs, Potential, check_gamma
from simulator.rng import key, uniform


class Exactness(StrEnum):
    """What the expectation of a model's rounds takes."""

    EXACT = "exact"
    """Drafts are accepted independently: computed without sampling."""
    GIVEN_KEYS = "exact given the keys"
    """Independent once the model's own draws are made: a mean of computed figures over keys."""
    SAMPLED = "sampled"
    """Drafts depend on each other: a mean of sampled rounds."""


class ThresholdModel(ABC):
    """Base of the models with acceptance probabilities: subclasses say these, and may correlate the draws."""

    @property
    def exactness(self) -> Exactness:
        """What the expectation of this model's rounds takes; independent drafts unless a subclass says otherwise."""
        return Exactness.EXACT

    @property
    def own_depths(self) -> int:
        """Depths that have probabilities of their own; greater ones have those of the last of these."""
        return MAX_GAMMA

    def accept_to(self, outputs: Outputs, gamma: int) -> list[F64]:
        """`accept_at` of the depths below *gamma*, those left out that are as the last one."""
        return [self.accept_at(outputs, depth) for depth in range(min(gamma, self.own_depths))]

    @abstractmethod
    def accept_at(self, outputs: Outputs, depth: int) -> F64:
        """Probability per token that it is accepted as draft number *depth* (from 0), those before it accepted."""

    def latent(self, outputs: Outputs) -> F64:
        """A uniform number per token, in [0, 1)."""
        return uniform_per_token(outputs, "acceptance")

    def beside(self, outputs: Outputs, gamma: int) -> Beside:  # noqa: ARG002
        """What rounds of *gamma* drafts verify beside drafts; nothing unless a subclass says otherwise."""
        return NOTHING_BESIDE

    def potential(self, outputs: Outputs, gamma: int) -> Potential:
        """Sampled outcome of a round of *gamma* drafts from every token."""
        check_gamma(gamma)
        accepted = first_refusal(self.latent(outputs), self.accept_to(outputs, gamma), gamma)
        within = np.minimum(accepted, np.minimum(outputs.left - 1, gamma)).astype(np.int16)
        drafted = np.full(len(within), gamma, dtype=np.int16)
        beside = self.beside(outputs, gamma)
        return Potential(within, drafted if beside.idle is None else drafted - beside.idle, beside)


def first_refusal(latent: F64, accept: list[F64], gamma: int) -> I16:
    """Per token the number of *gamma* drafts from it on before one whose latent number is not below its probability.

    The last of *accept* has the probabilities of all greater depths.
    """
    tokens = len(latent)
    accepted = np.zeros(tokens, dtype=np.int16)
    alive = np.ones(tokens, dtype=np.bool_)
    for depth in range(gamma):
        if depth < len(accept):
            within = latent < accept[depth]
        reach = max(tokens - depth, 0)
        alive[reach:] = False
        alive[:reach] &= within[depth:]
        accepted += alive
    return accepted


def uniform_per_token(outputs: Outputs, purpose: str) -> F64:
    """Uniform numbers keyed by attempt, position in its output, and *purpose*."""
    keys = outputs.keys ^ np.uint64(key(0, purpose))
    return uniform(np.repeat(keys, np.diff(outputs.offsets)), outputs.position.astype(np.uint64))
