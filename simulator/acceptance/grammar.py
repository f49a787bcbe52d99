"""What a grammar that leaves one legal token does to the drafts at such forced positions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from simulator.acceptance.base import F64, Outputs, Potential
from simulator.acceptance.threshold import Exactness, ThresholdModel, uniform_per_token
from tokenclass.classes import N_SUBCLASSES


class Forced(StrEnum):
    """How the engine treats a forced token."""

    ACCEPTED = "accepted"
    """The drafter knows the grammar: its draft of a forced token is always right."""
    REFUSED = "refused"
    """The drafter breaks the grammar there: its draft is never right, and the width is paid all the same."""
    JUMPED = "jumped"
    """The forced tokens after a round's last one are appended to it; they cost width like drafts."""


@dataclass(frozen=True, slots=True)
class GrammarAcceptance(ThresholdModel):
    """*base* under a grammar that forces a share of the tokens of each sub-class, drawn per position.

    Raises ValueError unless there is one share within 0..1 for each sub-class.
    """

    base: ThresholdModel
    forced_share: tuple[float, ...]
    treatment: Forced

    def __post_init__(self) -> None:
        if len(self.forced_share) != N_SUBCLASSES or not all(0 <= share <= 1 for share in self.forced_share):
            raise ValueError(f"forced shares {self.forced_share}: give {N_SUBCLASSES} within 0..1, by SubClass")

    @property
    def exactness(self) -> Exactness:
        """That of *base*, given the keys where forced positions are drawn; jumps have to be sampled."""
        if self.treatment is Forced.JUMPED:
            return Exactness.SAMPLED
        drawn = any(0 < share < 1 for share in self.forced_share)
        return Exactness.GIVEN_KEYS if drawn and self.base.exactness is Exactness.EXACT else self.base.exactness

    def accept_at(self, outputs: Outputs, depth: int) -> F64:
        """Probability per token, 1 or 0 at forced ones unless they are jumped."""
        base = self.base.accept_at(outputs, depth)
        if self.treatment is Forced.JUMPED:
            return base
        return np.where(self._forced(outputs), float(self.treatment is Forced.ACCEPTED), base)

    def latent(self, outputs: Outputs) -> F64:
        """The draws of *base*."""
        return self.base.latent(outputs)

    def potential(self, outputs: Outputs, gamma: int) -> Potential:
        """Sampled outcome of a round from every token; jumped tokens count as drafted and accepted."""
        plain = ThresholdModel.potential(self, outputs, gamma)
        if self.treatment is not Forced.JUMPED:
            return plain
        end = np.arange(len(outputs.labels)) + outputs.left
        after = np.arange(len(outputs.labels)) + plain.accepted + 1
        jumped = _forced_run(self._forced(outputs), end)[np.minimum(after, len(outputs.labels) - 1)]
        jumped = np.where(after < end, jumped, 0)
        return Potential(
            (plain.accepted + jumped).astype(np.int16), np.minimum(plain.drafted + jumped, 2**15 - 1).astype(np.int16)
        )

    def _forced(self, outputs: Outputs) -> npt.NDArray[np.bool_]:
        share = np.array(self.forced_share)[outputs.labels]
        return uniform_per_token(outputs, "grammar") < share


def _forced_run(forced: npt.NDArray[np.bool_], end: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Per token the number of forced tokens from it on, within its output."""
    tokens = len(forced)
    free = np.where(forced, tokens, np.arange(tokens))
    next_free = np.minimum.accumulate(free[::-1])[::-1] if tokens else free
    return np.minimum(next_free, end) - np.arange(tokens)
