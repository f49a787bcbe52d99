"""What every acceptance model is asked and what it answers.

A model answers for each position of an output: how many drafts would be accepted if a round began there. Draws belong
to positions, not to rounds, and a chain of rounds tests each position at most once. So the answer is a valid sample
for every draft depth and policy, and what-ifs on the same keys are paired.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
I16 = npt.NDArray[np.int16]
U64 = npt.NDArray[np.uint64]
U8 = npt.NDArray[np.uint8]

MAX_GAMMA = 1024
"""Largest draft depth accepted: guards against a typing slip, far above any engine's setting."""


def tokens_left(offsets: I64) -> I64:
    """Tokens from each token to the end of its output, itself included; output ``a`` ends at ``offsets[a + 1]``."""
    left: I64 = np.repeat(offsets[1:], np.diff(offsets)) - np.arange(offsets[-1], dtype=np.int64)
    return left


@dataclass(frozen=True, slots=True)
class Outputs:
    """Outputs of several attempts, end to end in flat arrays.

    *labels* holds a SubClass value per token. Attempt ``a`` owns tokens ``offsets[a]:offsets[a + 1]``. *keys* has one
    random key per attempt. *context_tokens* is the prompt length per attempt, needed by models that look at it.
    Raises ValueError if the shapes disagree.
    """

    labels: U8
    offsets: I64
    keys: U64
    context_tokens: I64 | None = None

    def __post_init__(self) -> None:
        offsets = self.offsets
        if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != len(self.labels):
            raise ValueError(f"offsets must run from 0 to {len(self.labels)}, the number of labels")
        if np.any(np.diff(offsets) < 0):
            raise ValueError("offsets must not decrease")
        if len(self.keys) != len(self):
            raise ValueError(f"{len(self.keys)} keys for {len(self)} attempts: give one key per attempt")
        if self.context_tokens is not None and len(self.context_tokens) != len(self):
            raise ValueError(f"{len(self.context_tokens)} context lengths for {len(self)} attempts: give one each")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def attempt(self) -> I64:
        """Index of the attempt that owns each token."""
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.offsets))

    @property
    def position(self) -> I64:
        """Position of each token in its own output, from 0."""
        return np.arange(len(self.labels), dtype=np.int64) - np.repeat(self.offsets[:-1], np.diff(self.offsets))

    @property
    def left(self) -> I64:
        """Tokens from each token to the end of its output, itself included."""
        return tokens_left(self.offsets)


@dataclass(frozen=True, slots=True)
class Beside:
    """Tokens that rounds verify beside drafts, for every token of the flat arrays; None: none."""

    idle: I16 | None = None
    """Width that a round from this token pays for without a draft in it."""
    jump: I16 | None = None
    """Tokens from this one on that follow by force: a round that ends before it emits them without a pass of their
    own, and they are computed as drafts are verified."""


NOTHING_BESIDE = Beside()


@dataclass(frozen=True, slots=True)
class Potential:
    """Outcome of a round for every token of the flat arrays as its first one.

    *accepted* counts drafts that are accepted, never past the output's last token but one: the last token of a round
    is the target's own. *drafted* counts drafts the target verifies, past the end of the output too, as engines do.
    """

    accepted: I16
    drafted: I16
    beside: Beside = NOTHING_BESIDE

    def cut(self, limit: int | I16) -> Potential:
        """The outcome of rounds cut to at most *limit* drafts; an array gives one limit per first token."""
        bound = np.asarray(limit, dtype=np.int16)
        idle = self.beside.idle
        beside = self.beside if idle is None else replace(self.beside, idle=np.minimum(idle, bound))
        return Potential(np.minimum(self.accepted, bound), np.minimum(self.drafted, bound), beside)


@dataclass(frozen=True, slots=True)
class Rounds:
    """Rounds that were run, flat: attempt ``a`` owns rounds ``offsets[a]:offsets[a + 1]``.

    *start* is the flat index of a round's first token; *emitted*, *accepted*, *drafted* and *undrafted* are token
    counts. A round emits accepted drafts, one token of the target's and what follows it by force.
    """

    start: I64
    emitted: I64
    accepted: I64
    drafted: I64
    offsets: I64
    undrafted: I64 | None = None
    """Tokens verified beside the drafts: idle width, and tokens emitted by force. None: none in any round."""

    def __len__(self) -> int:
        return len(self.start)


class AcceptanceModel(Protocol):
    """A source of round outcomes."""

    def potential(self, outputs: Outputs, gamma: int) -> Potential:
        """Sampled outcome of a round of at most *gamma* drafts from every token; depends on the attempts' keys."""
        ...


class ExactModel(AcceptanceModel, Protocol):
    """A model whose drafts are accepted independently, so that its expectation can be computed."""

    def accept_at(self, outputs: Outputs, depth: int) -> F64:
        """Probability per token that it is accepted as draft number *depth* (from 0), those before it accepted."""
        ...


def check_gamma(gamma: int) -> None:
    """Raise ValueError unless *gamma* is a usable draft depth."""
    if not 0 <= gamma <= MAX_GAMMA:
        raise ValueError(f"gamma {gamma} is outside 0..{MAX_GAMMA}: give the number of tokens drafted a round")
