"""Expected rounds of any acceptance model, computed where that is possible and sampled otherwise."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from simulator.acceptance.base import F64, AcceptanceModel, Outputs
from simulator.acceptance.rounds import chain_rounds
from simulator.acceptance.threshold import Exactness, ThresholdModel
from simulator.exact import expect
from simulator.intervals import Z_95
from simulator.policies import PolicyAcceptance
from simulator.rng import key


@dataclass(frozen=True, slots=True)
class Expectation:
    """Tokens per round over all outputs: how it was found and its 95 % interval, of no width where computed."""

    method: Exactness
    rounds: float
    tokens: float
    rounds_standard_error: float
    replicas: int

    @property
    def tokens_per_round(self) -> float | None:
        """Tokens per round; None without rounds."""
        return self.tokens / self.rounds if self.rounds else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % interval of tokens per round from that of the rounds; None without rounds."""
        if not self.rounds:
            return None
        half = Z_95 * self.rounds_standard_error
        fewest = max(self.rounds - half, np.finfo(float).tiny)
        return self.tokens / (self.rounds + half), self.tokens / fewest


def expectation(
    model: AcceptanceModel, outputs: Outputs, gamma: int, *, first: int = 1, replicas: int = 32
) -> Expectation:
    """Expected rounds of *outputs* under *model*.

    A model without draws of its own (observed acceptance) gives the same rounds on every key: its interval then has
    no width. Sampling uses *replicas* >= 2 sets of keys derived from those of *outputs*.
    """
    tokens = float(np.sum(np.maximum(np.diff(outputs.offsets) - first, 0)))
    exactness = _exactness(model)
    if exactness is Exactness.EXACT:
        return Expectation(Exactness.EXACT, _rounds_once(model, outputs, gamma, first), tokens, 0.0, 1)
    if replicas < 2:
        raise ValueError(f"{replicas} replicas give no interval: give 2 at least")
    counts = np.array([_rounds_once(model, _rekeyed(outputs, one), gamma, first) for one in range(replicas)])
    error = float(counts.std(ddof=1) / np.sqrt(replicas))
    return Expectation(exactness, float(counts.mean()), tokens, error, replicas)


def _exactness(model: AcceptanceModel) -> Exactness:
    inner = model.model if isinstance(model, PolicyAcceptance) else model
    return inner.exactness if isinstance(inner, ThresholdModel) else Exactness.EXACT


def _rounds_once(model: AcceptanceModel, outputs: Outputs, gamma: int, first: int) -> float:
    inner, limits = model, None
    if isinstance(model, PolicyAcceptance):
        inner, limits = model.model, model.policy.limits(outputs, gamma)
    if isinstance(inner, ThresholdModel) and inner.exactness is not Exactness.SAMPLED:
        per_output: F64 = expect(inner, outputs, gamma, first, limits).rounds
        return float(per_output.sum())
    return float(len(chain_rounds(model.potential(outputs, gamma), outputs.offsets, first)))


def _rekeyed(outputs: Outputs, replica: int) -> Outputs:
    return replace(outputs, keys=outputs.keys ^ np.uint64(key(replica, "replica")))
