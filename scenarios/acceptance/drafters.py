"""Drafters without a model, run on the recorded token ids: which of their drafts the target accepts is then known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from scenarios.drafters.base import Drafter, DrafterOptions, options_of
from simulator.acceptance.base import F64, I64, U8, U64, Potential, tokens_left
from simulator.acceptance.grammar import Bools, with_forced_drafts
from simulator.acceptance.recorded import Attempts, ObservedAcceptance
from simulator.acceptance.rounds import chain_rounds
from simulator.acceptance.table import TableAcceptance
from simulator.longcolumns import gathered
from simulator.tokenstore import TokenStore
from tokenclass.classes import N_SUBCLASSES


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredDrafts:
    """Outcome of a round from every output token of a workload, by draft depth; exact at temperature 0."""

    known: dict[int, Potential]
    labels: U8
    offsets: I64
    cuts: bool
    """Whether a shallower outcome is a deeper one cut."""

    def under_grammar(self, forced: Bools) -> MeasuredDrafts:
        """The same of a drafter that knows which tokens are *forced*, one value a token of the labels."""
        known = {gamma: with_forced_drafts(one, forced, self.offsets, gamma) for gamma, one in self.known.items()}
        return replace(self, known=known)

    def acceptance(self, keys: U64, recorded: I64) -> ObservedAcceptance:
        """The model of attempts of these *keys*, each a repetition of attempt number ``recorded[a]``."""
        pieces = self.offsets[recorded], np.diff(self.offsets)[recorded]
        known = {
            gamma: Potential(gathered(one.accepted, *pieces)[0], gathered(one.drafted, *pieces)[0])
            for gamma, one in self.known.items()
        }
        offsets = np.concatenate([[0], np.cumsum(pieces[1])]).astype(np.int64)
        return ObservedAcceptance(Attempts(keys, offsets), known, self.cuts)

    def table(self, gamma: int) -> TableAcceptance:
        """Acceptance by sub-class and depth over the rounds that are run, as an engine's counters would have it.

        A round without a draft counts as a miss of its first one.
        """
        starts = np.zeros(len(self.labels), dtype=np.bool_)
        starts[chain_rounds(self.at(gamma), self.offsets).start] = True
        return TableAcceptance(self._rates(gamma, starts))

    def eps(self, gamma: int) -> F64:
        """Mismatch probability of the first draft by sub-class, over all positions as a round's first: the law's eps.

        No draft is a mismatch. Positions that no round can start at are left out: the token that prefill emits and an
        output's last, which is never drafted.
        """
        starts = tokens_left(self.offsets) < np.repeat(np.diff(self.offsets), np.diff(self.offsets))
        return np.asarray(1 - self._rates(gamma, starts)[:, 0], dtype=np.float64)

    def _rates(self, gamma: int, starts: npt.NDArray[np.bool_]) -> F64:
        accepted, left = self.at(gamma).accepted, tokens_left(self.offsets)
        hit, tested = np.zeros((2, N_SUBCLASSES, max(gamma, 1)))
        for depth in range(gamma):
            begun = np.flatnonzero(starts & (accepted >= depth) & (left - 1 > depth))
            drafted = self.labels[begun + depth]
            tested[:, depth] = np.bincount(drafted, minlength=N_SUBCLASSES)
            hit[:, depth] = np.bincount(drafted, accepted[begun] > depth, N_SUBCLASSES)
        rates: F64 = np.divide(hit, tested, out=np.zeros_like(hit), where=tested > 0)
        return rates

    def at(self, gamma: int) -> Potential:
        """The outcome at *gamma* drafts."""
        deeper = min(depth for depth in self.known if depth >= gamma)
        return self.known[deeper].cut(gamma)


Measurer = Callable[[TokenStore, U8, I64, Drafter, DrafterOptions, Sequence[int]], MeasuredDrafts]
"""As `measure`."""


def measure(
    store: TokenStore, labels: U8, offsets: I64, drafter: Drafter, options: DrafterOptions, gammas: Sequence[int]
) -> MeasuredDrafts:
    """Run *drafter* on the recorded tokens of *store*, whose attempts own *labels* by *offsets*, at each of *gammas*.

    Raises ValueError for options out of range.
    """
    depths = [max(gammas)] if drafter.cuts else sorted(set(gammas))
    found = drafter.run(store, options_of(drafter.options, options), depths)
    order = store.output_order
    lengths = np.diff(offsets)[order]
    place = np.repeat(offsets[order] - (np.cumsum(lengths) - lengths), lengths) + np.arange(int(lengths.sum()))
    known = {gamma: _placed(one, place, len(labels)) for gamma, one in found.items()}
    return MeasuredDrafts(known=known, labels=labels, offsets=offsets, cuts=drafter.cuts)


def measuring_once() -> Measurer:
    """`measure` with a memory, for questions about one recording: each drafter is run on it once."""
    known: dict[tuple[str, object, tuple[int, ...]], MeasuredDrafts] = {}

    def measured(
        store: TokenStore, labels: U8, offsets: I64, drafter: Drafter, options: DrafterOptions, gammas: Sequence[int]
    ) -> MeasuredDrafts:
        key = (drafter.name, options_of(drafter.options, options), tuple(gammas))
        if key not in known:
            known[key] = measure(store, labels, offsets, drafter, options, gammas)
        return known[key]

    return measured


def _placed(found: Potential, place: I64, size: int) -> Potential:
    accepted, drafted = np.zeros((2, size), dtype=np.int16)
    accepted[place], drafted[place] = found.accepted, found.drafted
    return Potential(accepted, drafted)
