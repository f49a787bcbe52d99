"""Constrained decoding: what a grammar that leaves one legal token, or an engine that drafts nothing under it, changes.

Which tokens are forced is known per attempt, so the modes wrap any model; those that need no probabilities also wrap
outcomes measured on recorded tokens.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from simulator.acceptance.base import F64, I16, I64, AcceptanceModel, Beside, Outputs, Potential, tokens_left
from simulator.acceptance.recorded import Attempts
from simulator.acceptance.threshold import Exactness, ThresholdModel
from tokenclass.classes import CLASS_OF_SUBCLASS, PositionClass

Bools = npt.NDArray[np.bool_]
_SCHEMA = np.array([owner is PositionClass.S for owner in CLASS_OF_SUBCLASS])


class GrammarMode(StrEnum):
    """What the engine does under a grammar."""

    NONE = "none"
    """As if there were no grammar."""
    ACCEPT = "accept"
    """The drafter knows the grammar: its draft of a forced token is always right."""
    JUMP = "jump"
    """Forced tokens after a round's last one are emitted with it; they cost width as drafts do, and no draft."""
    NO_DRAFT = "no-draft"
    """Within a call nothing is drafted and no draft is accepted, and rounds pay the full width all the same."""


@dataclass(frozen=True, slots=True)
class Constraint:
    """A mode, and the forced tokens of the outputs that it is used on.

    *forced* has one value a token of *attempts*; `NO_DRAFT` goes by labels and does not look at it.
    """

    mode: GrammarMode
    attempts: Attempts
    forced: Bools

    def forced_in(self, outputs: Outputs) -> Bools:
        """Which tokens of *outputs* are forced. Raises ValueError for outputs that are not known."""
        return self.forced[self.attempts.tokens_of(outputs)]

    def beside(self, outputs: Outputs, gamma: int) -> Beside:
        """What rounds of *gamma* drafts verify beside drafts."""
        if self.mode is GrammarMode.JUMP:
            return Beside(jump=forced_run(self.forced_in(outputs), outputs))
        if self.mode is GrammarMode.NO_DRAFT:
            return Beside(idle=np.where(within_call(outputs), gamma, 0).astype(np.int16))
        return Beside()


@dataclass(frozen=True, slots=True)
class GrammarAcceptance(ThresholdModel):
    """*base* under a constraint."""

    base: ThresholdModel
    constraint: Constraint

    @property
    def exactness(self) -> Exactness:
        """That of *base*."""
        return self.base.exactness

    @property
    def own_depths(self) -> int:
        """Those of *base*."""
        return self.base.own_depths

    def accept_at(self, outputs: Outputs, depth: int) -> F64:
        """Probability per token: 1 where a known grammar forces it, 0 within calls where nothing is drafted."""
        accept = self.base.accept_at(outputs, depth)
        if self.constraint.mode is GrammarMode.ACCEPT:
            return np.where(self.constraint.forced_in(outputs), 1.0, accept)
        if self.constraint.mode is GrammarMode.NO_DRAFT:
            return np.where(within_call(outputs), 0.0, accept)
        return accept

    def latent(self, outputs: Outputs) -> F64:
        """The draws of *base*."""
        return self.base.latent(outputs)

    def beside(self, outputs: Outputs, gamma: int) -> Beside:
        """What the constraint adds."""
        return self.constraint.beside(outputs, gamma)


@dataclass(frozen=True, slots=True)
class GrammarObserved:
    """Observed outcomes under a constraint. Raises ValueError for `ACCEPT`: see `with_forced_drafts`."""

    base: AcceptanceModel
    constraint: Constraint

    def __post_init__(self) -> None:
        if self.constraint.mode is GrammarMode.ACCEPT:
            raise ValueError("grammar accept changes the drafts themselves: give outcomes that have it in them")

    def potential(self, outputs: Outputs, gamma: int) -> Potential:
        """The observed outcomes with what the constraint adds."""
        found = replace(self.base.potential(outputs, gamma), beside=self.constraint.beside(outputs, gamma))
        if self.constraint.mode is not GrammarMode.NO_DRAFT:
            return found
        within = within_call(outputs)
        accepted = np.minimum(found.accepted, _run(~within, outputs))
        return replace(found, accepted=accepted, drafted=np.where(within, 0, found.drafted).astype(np.int16))


def with_forced_drafts(found: Potential, forced: Bools, offsets: I64, gamma: int) -> Potential:
    """Observed outcomes of rounds of *gamma* drafts whose drafter knows the grammar.

    Where its own draft ends or goes wrong at a forced token, it drafts that token and is asked again from the one
    after, for what is left of *gamma*: what it proposes there is the outcome observed there.
    """
    tokens = len(forced)
    left = tokens_left(offsets)
    at, room = np.arange(tokens), np.full(tokens, gamma)
    drafted = np.zeros(tokens, dtype=np.int64)
    going = np.arange(tokens)
    while going.size:
        here = at[going]
        accepted = np.minimum(found.accepted[here], room[going])
        after = np.minimum(here + accepted, max(tokens - 1, 0))
        # the last token of an output is the target's own, never a draft
        forced_next = forced[after] & (accepted < left[here] - 1) & (accepted < room[going])
        own = np.where(forced_next, accepted + 1, np.minimum(found.drafted[here], room[going]))
        drafted[going] += own
        room[going] -= accepted + forced_next
        at[going] = after + 1
        going = going[forced_next]
    return Potential((gamma - room).astype(np.int16), drafted.astype(np.int16), found.beside)


def within_call(outputs: Outputs) -> Bools:
    """Tokens of a call but for the one that opens it: those that a grammar governs."""
    schema = _SCHEMA[outputs.labels]
    before = np.roll(schema, 1)
    before[outputs.position == 0] = False
    within: Bools = schema & before
    return within


def forced_run(forced: Bools, outputs: Outputs) -> I16:
    """Per token the number of forced tokens from it on, within its output."""
    return _run(forced, outputs)


def _run(chosen: Bools, outputs: Outputs) -> I16:
    tokens = len(chosen)
    other = np.where(chosen, tokens, np.arange(tokens))
    following = np.minimum.accumulate(other[::-1])[::-1] if tokens else other
    return np.minimum(np.minimum(following - np.arange(tokens), outputs.left), 2**15 - 1).astype(np.int16)
