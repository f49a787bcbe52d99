"""Drafters without a model, run on the recorded token ids: which of their drafts the target accepts is then known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scenarios.options.drafting import DrafterOptions
from simulator.acceptance.base import F64, I64, U8, U64, Potential
from simulator.acceptance.ngram import Occurrence, ngram_potential
from simulator.acceptance.recorded import Attempts, ObservedAcceptance
from simulator.acceptance.rounds import chain_rounds
from simulator.acceptance.suffix import SuffixDecoding
from simulator.acceptance.table import TableAcceptance
from simulator.config import SpeculativeMethod
from simulator.longcolumns import gathered
from simulator.tokenstore import TokenStore
from tokenclass.classes import N_SUBCLASSES

MEASURED_METHODS = (SpeculativeMethod.NGRAM, SpeculativeMethod.SUFFIX)
"""Methods whose acceptance needs no probabilities."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredDrafts:
    """Outcome of a round from every output token of a workload, by draft depth; exact at temperature 0."""

    known: dict[int, Potential]
    labels: U8
    offsets: I64
    cuts: bool
    """Whether a shallower outcome is a deeper one cut."""

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
        starts = self._left() < np.repeat(np.diff(self.offsets), np.diff(self.offsets))
        return np.asarray(1 - self._rates(gamma, starts)[:, 0], dtype=np.float64)

    def _rates(self, gamma: int, starts: npt.NDArray[np.bool_]) -> F64:
        accepted, left = self.at(gamma).accepted, self._left()
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

    def _left(self) -> I64:
        return np.repeat(self.offsets[1:], np.diff(self.offsets)) - np.arange(len(self.labels))


Measurer = Callable[[TokenStore, U8, I64, SpeculativeMethod, DrafterOptions, Sequence[int]], MeasuredDrafts]
"""As `measure`."""


def measure(
    store: TokenStore,
    labels: U8,
    offsets: I64,
    method: SpeculativeMethod,
    options: DrafterOptions,
    gammas: Sequence[int],
) -> MeasuredDrafts:
    """Run *method* on the recorded tokens of *store*, whose attempts own *labels* by *offsets*, at each of *gammas*.

    Raises ValueError for options out of range.
    """
    if method is SpeculativeMethod.NGRAM:
        found = _ngram(store, options, max(gammas))
    else:
        found = _suffix(options).potentials(store, sorted(set(gammas)))
    order = store.output_order
    lengths = np.diff(offsets)[order]
    place = np.repeat(offsets[order] - (np.cumsum(lengths) - lengths), lengths) + np.arange(int(lengths.sum()))
    known = {gamma: _placed(one, place, len(labels)) for gamma, one in found.items()}
    return MeasuredDrafts(known=known, labels=labels, offsets=offsets, cuts=method is SpeculativeMethod.NGRAM)


def measuring_once() -> Measurer:
    """`measure` with a memory, for questions about one recording: each drafter is run on it once."""
    known: dict[tuple[SpeculativeMethod, DrafterOptions, tuple[int, ...]], MeasuredDrafts] = {}

    def measured(
        store: TokenStore,
        labels: U8,
        offsets: I64,
        method: SpeculativeMethod,
        options: DrafterOptions,
        gammas: Sequence[int],
    ) -> MeasuredDrafts:
        key = (method, options, tuple(gammas))
        if key not in known:
            known[key] = measure(store, labels, offsets, method, options, gammas)
        return known[key]

    return measured


def _ngram(store: TokenStore, options: DrafterOptions, gamma: int) -> dict[int, Potential]:
    parts = [
        ngram_potential(
            tokens,
            gamma,
            prompt_lookup_min=options.prompt_lookup_min,
            prompt_lookup_max=options.prompt_lookup_max,
            occurrence=Occurrence(options.prompt_lookup_match),
        )
        for tokens in store
    ]
    none = np.zeros(0, dtype=np.int16)
    accepted = np.concatenate([none, *(part.accepted for part in parts)])
    drafted = np.concatenate([none, *(part.drafted for part in parts)])
    return {gamma: Potential(accepted, drafted)}


def _placed(found: Potential, place: I64, size: int) -> Potential:
    accepted, drafted = np.zeros((2, size), dtype=np.int16)
    accepted[place], drafted[place] = found.accepted, found.drafted
    return Potential(accepted, drafted)


def _suffix(options: DrafterOptions) -> SuffixDecoding:
    """The suffix drafter of *options*."""
    return SuffixDecoding(
        max_tree_depth=options.suffix_decoding_max_tree_depth,
        max_cached_requests=options.suffix_decoding_max_cached_requests,
        max_spec_factor=options.suffix_decoding_max_spec_factor,
        min_token_prob=options.suffix_decoding_min_token_prob,
    )
