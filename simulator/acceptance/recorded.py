"""Acceptance that was observed: rounds that an engine recorded, or drafts checked against recorded tokens.

Observations belong to attempts, found by their random key, so any selection of attempts can be asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from simulator.acceptance.base import F64, I64, U64, Outputs, Potential, check_gamma
from simulator.acceptance.threshold import first_refusal


@dataclass(frozen=True, slots=True)
class Attempts:
    """Attempts by key: attempt ``keys[a]`` owns tokens ``offsets[a]:offsets[a + 1]`` of an observation's arrays."""

    keys: U64
    offsets: I64
    _order: I64 = field(init=False, repr=False)
    """Attempts by rising key."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_order", np.argsort(self.keys, kind="stable").astype(np.int64))

    def tokens_of(self, outputs: Outputs) -> I64:
        """Index into the observation of each token of *outputs*, which may end before the observed ones do.

        Raises ValueError if an attempt was not observed or is longer than what was.
        """
        order = self._order
        at = np.searchsorted(self.keys[order], outputs.keys)
        row = order[np.minimum(at, len(order) - 1)] if len(order) else np.zeros(len(outputs), dtype=np.int64)
        if not len(order) or not np.array_equal(self.keys[row], outputs.keys):
            raise ValueError("an attempt has no observed acceptance: give observations for each attempt replayed")
        lengths = np.diff(outputs.offsets)
        if np.any(np.diff(self.offsets)[row] < lengths):
            raise ValueError("an observed output and its labels differ in length: use one tokenizer for both")
        return np.repeat(self.offsets[row], lengths) + outputs.position


@dataclass(frozen=True, slots=True)
class ObservedAcceptance:
    """Outcomes known for every token as a round's first, by draft depth: those of a drafter run on recorded tokens.

    A depth that was not observed is the next deeper one cut, where *cuts* says that this gives the same outcome.
    """

    attempts: Attempts
    known: Mapping[int, Potential]
    cuts: bool = True

    def potential(self, outputs: Outputs, gamma: int) -> Potential:
        """The observed outcome of *gamma* drafts, as far as *outputs* go. Raises ValueError for an unknown depth."""
        check_gamma(gamma)
        deeper = [depth for depth in self.known if depth == gamma or (self.cuts and depth > gamma)]
        if not deeper:
            raise ValueError(f"gamma {gamma} was not observed, only {sorted(self.known)}: observe that depth too")
        known = self.known[min(deeper)]
        tokens = self.attempts.tokens_of(outputs)
        accepted = np.minimum(known.accepted[tokens], outputs.left - 1).astype(np.int16)
        return Potential(accepted, known.drafted[tokens]).cut(gamma)


@dataclass(frozen=True, slots=True)
class RecordedAcceptance:
    """Rounds recorded by an engine, replayed: *refused* marks each token whose draft was rejected.

    At the recorded depth the recorded rounds come out again. Other depths are an extrapolation: a target's own token
    after a round accepted in full was never drafted, and *refused* had to assume something for it.
    """

    attempts: Attempts
    refused: npt.NDArray[np.bool_]

    def potential(self, outputs: Outputs, gamma: int) -> Potential:
        """Drafts accepted until a refused token."""
        check_gamma(gamma)
        latent: F64 = self.refused[self.attempts.tokens_of(outputs)].astype(np.float64)
        accepted = first_refusal(latent, [np.full(len(latent), 0.5)], gamma)
        within = np.minimum(accepted, np.minimum(outputs.left - 1, gamma)).astype(np.int16)
        return Potential(within, np.full(len(within), gamma, dtype=np.int16))


def from_recorded_rounds(
    attempts: Attempts,
    accepted: I64,
    drafted: I64,
    round_offsets: I64,
    *,
    first: int = 1,
    refuse_untested: bool = False,
) -> RecordedAcceptance:
    """A model of recorded rounds: attempt ``a`` ran rounds ``round_offsets[a]:round_offsets[a + 1]``.

    *accepted* and *drafted* are counts per round; prefill emitted the first *first* tokens. *refuse_untested* says
    whether a token that no round drafted counts as refused. Raises ValueError if an attempt's rounds do not cover its
    output: each emits its accepted drafts and one token more, the last one cut at the end.
    """
    emitted = accepted + 1
    before = np.concatenate([[0], np.cumsum(emitted)])
    lengths = np.diff(attempts.offsets)
    covered = before[round_offsets[1:]] - before[round_offsets[:-1]]
    last = np.where(np.diff(round_offsets) > 0, emitted[np.maximum(round_offsets[1:] - 1, 0)], 1) if len(emitted) else 1
    wanted = np.maximum(lengths - first, 0)
    wrong = np.flatnonzero((covered < wanted) | (covered - last >= np.maximum(wanted, 1)))
    if wrong.size:
        one = int(wrong[0])
        raise ValueError(
            f"recorded rounds of attempt {one} emit {covered[one]} tokens for {wanted[one]}: "
            "use the recording's own token counts, or a modelled acceptance"
        )
    owner = np.repeat(np.arange(len(lengths)), np.diff(round_offsets))
    own_token = attempts.offsets[owner] + first + before[1:] - 1 - before[round_offsets[owner]]
    refused = np.zeros(int(attempts.offsets[-1]), dtype=np.bool_)
    inside = own_token < attempts.offsets[owner + 1]
    untested = accepted >= drafted
    refused[own_token[inside & ~(untested & (not refuse_untested))]] = True
    return RecordedAcceptance(attempts, refused)
