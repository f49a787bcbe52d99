"""Constrained decoding: the exact expectation against rounds written out, and sampled rounds against it."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.acceptance.base import Outputs, Potential
from simulator.acceptance.expectation import expectation
from simulator.acceptance.grammar import Constraint, GrammarAcceptance, GrammarMode, GrammarObserved, with_forced_drafts
from simulator.acceptance.recorded import Attempts
from simulator.acceptance.rounds import chain_rounds
from simulator.acceptance.table import from_eps
from simulator.acceptance.tally import spec_decode_counts, tally
from simulator.acceptance.threshold import Exactness
from simulator.exact import expect
from tests.simulator.strategies import outputs_of
from tokenclass.classes import SubClass

D, T, F = SubClass.D, SubClass.T, SubClass.F
ACCEPT = {D: 0.9, T: 0.4, F: 0.6}
BASE = from_eps([1 - ACCEPT.get(label, 0.5) for label in SubClass])
TOKENS = st.lists(st.tuples(st.sampled_from([D, T, F]), st.booleans()), min_size=1, max_size=7)
MODES = (GrammarMode.ACCEPT, GrammarMode.JUMP, GrammarMode.NO_DRAFT)


def constrained(mode: GrammarMode, outputs: Outputs, forced: np.ndarray) -> GrammarAcceptance:
    return GrammarAcceptance(BASE, Constraint(mode, Attempts(outputs.keys, outputs.offsets), forced))


def written_out(labels: list[SubClass], forced: list[bool], gamma: int, mode: GrammarMode) -> tuple[float, ...]:
    """Expected rounds, drafts, accepted drafts and other verified tokens of one output, round by round."""
    n = len(labels)

    def governed(at: int) -> bool:
        return labels[at] is not F and at > 0 and labels[at - 1] is not F

    def chance(at: int) -> float:
        if mode is GrammarMode.ACCEPT and forced[at]:
            return 1.0
        return 0.0 if mode is GrammarMode.NO_DRAFT and governed(at) else ACCEPT[labels[at]]

    @cache
    def rest(start: int) -> tuple[float, ...]:
        if start >= n:
            return (0.0, 0.0, 0.0, 0.0)
        idle = gamma if mode is GrammarMode.NO_DRAFT and governed(start) else 0
        total = np.array([1.0, gamma - idle, 0.0, idle])
        reached = 1.0
        for accepted in range(gamma - idle + 1):
            at = start + accepted
            last = accepted == gamma - idle or at == n - 1
            probability = reached if last else reached * (1 - chance(at))
            following, jumped = at + 1, 0
            while mode is GrammarMode.JUMP and following < n and forced[following]:
                following, jumped = following + 1, jumped + 1
            total = total + probability * (np.array([0.0, 0.0, accepted, jumped]) + np.array(rest(following)))
            if last:
                break
            reached *= chance(at)
        return tuple(total)

    return rest(1)


@given(st.lists(TOKENS, min_size=1, max_size=3), st.integers(0, 4), st.sampled_from(MODES))
@settings(max_examples=300, deadline=None)
def test_the_exact_expectation_is_that_of_rounds_written_out(
    texts: list[list[tuple[SubClass, bool]]], gamma: int, mode: GrammarMode
) -> None:
    outputs = outputs_of([len(text) for text in texts], np.array([label for text in texts for label, _ in text]))
    forced = np.array([one for text in texts for _, one in text])
    found = expect(constrained(mode, outputs, forced), outputs, gamma)
    rows = [written_out([a for a, _ in text], [b for _, b in text], gamma, mode) for text in texts]
    known = (found.rounds, found.drafted, found.accepted, found.undrafted)
    for column, values in zip(zip(*rows, strict=True), known, strict=True):
        assert values == pytest.approx(column)
    emitted = found.tokens.sum()
    assert found.share.sum() == pytest.approx(found.rounds.sum())
    assert found.rounds.sum() <= emitted + 1e-9


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("gamma", [1, 4])
def test_sampled_rounds_agree_with_the_exact_expectation(mode: GrammarMode, gamma: int) -> None:
    rng = np.random.default_rng(5)
    pattern = np.array([F, F, D, D, T, T, T, D, D, F, F, D, T, D, F])
    copies = 4000
    outputs = outputs_of([len(pattern)] * copies, np.tile(pattern, copies))
    forced = np.tile((pattern != F) & (rng.random(len(pattern)) < 0.6), copies)
    model = constrained(mode, outputs, forced)
    exact = expect(model, outputs, gamma)
    rounds = chain_rounds(model.potential(outputs, gamma), outputs.offsets)
    counts = np.diff(rounds.offsets)
    assert abs(counts.mean() - exact.rounds.mean()) < 4 * counts.std() / np.sqrt(copies)
    drawn, known = tally(rounds, outputs, len(SubClass)), exact.by_label(outputs.labels, len(SubClass))
    for name in ("started", "share", "accepted_from", "tested", "hit"):
        assert getattr(drawn, name) / copies == pytest.approx(getattr(known, name) / copies, abs=0.06)
    undrafted = 0 if rounds.undrafted is None else rounds.undrafted.sum()
    assert undrafted / copies == pytest.approx(exact.undrafted.mean(), abs=0.1)
    assert rounds.emitted.sum() == exact.tokens.sum()
    assert expectation(model, outputs, gamma).method is Exactness.EXACT


def test_a_jump_emits_more_than_the_drafts_and_one() -> None:
    labels = np.array([F, F, D, D, F, D, F, D, D])
    outputs = outputs_of([7, 2], labels)
    model = GrammarAcceptance(
        from_eps([1.0] * 8), Constraint(GrammarMode.JUMP, Attempts(outputs.keys, outputs.offsets), labels == D)
    )
    rounds = chain_rounds(model.potential(outputs, 1), outputs.offsets)
    assert rounds.start.tolist() == [1, 4, 6, 8]
    assert rounds.emitted.tolist() == [3, 2, 1, 1]
    assert rounds.drafted.tolist() == [1, 1, 1, 1]
    assert rounds.undrafted is not None
    assert rounds.undrafted.tolist() == [2, 1, 0, 0]
    assert spec_decode_counts(rounds, 1).num_accepted_tokens == 0


def test_an_engine_that_drafts_nothing_in_calls_pays_their_width() -> None:
    outputs = outputs_of([6], np.array([F, F, D, T, D, F]))
    model = constrained(GrammarMode.NO_DRAFT, outputs, np.zeros(6, np.bool_))
    potential = model.potential(outputs, 3)
    assert potential.drafted.tolist() == [3, 3, 3, 0, 0, 3]
    assert potential.beside.idle is not None
    assert potential.beside.idle.tolist() == [0, 0, 0, 3, 3, 0]
    assert potential.accepted[1] <= 2
    assert potential.accepted[3:5].tolist() == [0, 0]


@pytest.mark.parametrize("mode", [GrammarMode.JUMP, GrammarMode.NO_DRAFT])
def test_observed_drafts_take_the_modes_that_need_no_probabilities(mode: GrammarMode) -> None:
    """A drafter whose outcomes are those that the table drew comes to the same rounds."""
    labels = np.tile([F, F, D, T, T, D, D, F], 40)
    outputs = outputs_of([80] * 4, labels)
    forced = np.tile([False, False, False, True, False, True, True, False], 40)
    constraint = Constraint(mode, Attempts(outputs.keys, outputs.offsets), forced)
    modelled = chain_rounds(GrammarAcceptance(BASE, constraint).potential(outputs, 3), outputs.offsets)
    observed = chain_rounds(GrammarObserved(BASE, constraint).potential(outputs, 3), outputs.offsets)
    assert np.array_equal(modelled.start, observed.start)
    assert np.array_equal(modelled.drafted, observed.drafted)
    with pytest.raises(ValueError, match="give outcomes that have it in them"):
        GrammarObserved(BASE, Constraint(GrammarMode.ACCEPT, constraint.attempts, forced))


@given(st.lists(TOKENS, min_size=1, max_size=5), st.integers(1, 5))
@settings(max_examples=200, deadline=None)
def test_observed_drafts_with_forced_ones_are_those_of_the_same_draws(
    outs: list[list[tuple[SubClass, bool]]], gamma: int
) -> None:
    """Whether a draft is right hangs on its token alone here: asked again after a forced one, it goes on so."""
    labels = np.array([label for out in outs for label, _ in out])
    forced = np.array([one for out in outs for _, one in out])
    outputs = outputs_of([len(out) for out in outs], labels)
    modelled = constrained(GrammarMode.ACCEPT, outputs, forced).potential(outputs, gamma)
    observed = with_forced_drafts(BASE.potential(outputs, gamma), forced, outputs.offsets, gamma)
    assert observed.accepted.tolist() == modelled.accepted.tolist()
    assert observed.drafted.tolist() == modelled.drafted.tolist()
    deeper = with_forced_drafts(BASE.potential(outputs, gamma + 3), forced, outputs.offsets, gamma + 3).cut(gamma)
    assert observed.accepted.tolist() == deeper.accepted.tolist()
    assert observed.drafted.tolist() == deeper.drafted.tolist()


def test_a_forced_token_is_drafted_where_the_drafter_has_nothing() -> None:
    """Nothing found at all: the forced run is drafted, and nothing after it; the last token is never a draft."""
    forced = np.array([False, True, True, False, True])
    nothing = Potential(np.zeros(5, np.int16), np.zeros(5, np.int16))
    found = with_forced_drafts(nothing, forced, np.array([0, 5]), 4)
    assert found.accepted.tolist() == [0, 2, 1, 0, 0]
    assert found.drafted.tolist() == [0, 2, 1, 0, 0]


def test_knowing_the_grammar_never_costs_rounds() -> None:
    labels = np.tile([F, D, D, T, T, T, D, D], 50)
    outputs = outputs_of([100] * 4, labels)
    forced = labels == D
    plain = expect(BASE, outputs, 4).rounds.sum()
    rounds = {mode: expect(constrained(mode, outputs, forced), outputs, 4).rounds.sum() for mode in MODES}
    assert rounds[GrammarMode.ACCEPT] < plain < rounds[GrammarMode.NO_DRAFT]
    assert rounds[GrammarMode.JUMP] < plain


def test_cut_rounds_keep_what_is_beside_drafts() -> None:
    outputs = outputs_of([6], np.array([F, F, D, T, D, F]))
    found: Potential = constrained(GrammarMode.NO_DRAFT, outputs, np.zeros(6, np.bool_)).potential(outputs, 3).cut(2)
    assert found.beside.idle is not None
    assert found.beside.idle.tolist() == [0, 0, 0, 2, 2, 0]
    assert found.drafted.tolist() == [2, 2, 2, 0, 0, 2]
