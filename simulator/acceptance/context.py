"""Acceptance that changes with the length of the context it is drafted in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulator.acceptance.base import F64, Outputs
from simulator.acceptance.threshold import Exactness, ThresholdModel


@dataclass(frozen=True, slots=True)
class ContextDecay(ThresholdModel):
    """Scales the acceptance of *base* by a factor of the context: the prompt and the output so far.

    The factor is linear between the points (*context_tokens*, *factor*) and constant outside them; the product is
    clipped to 1. Raises ValueError unless the points rise in context and the factors are >= 0.
    """

    base: ThresholdModel
    context_tokens: tuple[float, ...]
    factor: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.context_tokens) != len(self.factor) or not self.factor:
            raise ValueError("context decay needs as many factors as context lengths, one at least")
        if np.any(np.diff(self.context_tokens) <= 0) or min(self.factor) < 0:
            raise ValueError("context lengths must rise and factors must be >= 0")

    @property
    def exactness(self) -> Exactness:
        """That of the model scaled."""
        return self.base.exactness

    @property
    def own_depths(self) -> int:
        """Those of *base*."""
        return self.base.own_depths

    def accept_at(self, outputs: Outputs, depth: int) -> F64:
        """Scaled probability per token. Raises ValueError if *outputs* carries no context lengths."""
        if outputs.context_tokens is None:
            raise ValueError("context decay needs the prompt length of each attempt, and none was given")
        context = np.repeat(outputs.context_tokens, np.diff(outputs.offsets)) + outputs.position
        scale = np.interp(context, self.context_tokens, self.factor)
        scaled: F64 = np.minimum(self.base.accept_at(outputs, depth) * scale, 1.0)
        return scaled

    def latent(self, outputs: Outputs) -> F64:
        """The draws of the model scaled."""
        return self.base.latent(outputs)
