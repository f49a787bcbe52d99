from __future__ import annotations

import numpy as np
import pytest

from simulator.acceptance.expectation import expectation
from simulator.acceptance.grammar import Forced, GrammarAcceptance
from simulator.acceptance.rounds import chain_rounds
from simulator.acceptance.table import from_eps
from simulator.acceptance.threshold import Exactness
from tests.simulator.strategies import outputs_of

BASE = from_eps([0.5] * 8)
DELIMITERS = (1.0,) + (0.0,) * 7


def test_accepted_and_refused_forced_tokens_are_certain() -> None:
    outputs = outputs_of([4], np.array([0, 7, 0, 7]))
    for treatment, forced in ((Forced.ACCEPTED, 1.0), (Forced.REFUSED, 0.0)):
        model = GrammarAcceptance(BASE, DELIMITERS, treatment)
        assert model.accept_at(outputs, 0).tolist() == [forced, 0.5, forced, 0.5]
        assert model.exactness is Exactness.EXACT


def test_jumps_append_the_forced_tokens_after_the_target_own() -> None:
    labels = np.array([7, 7, 0, 0, 7, 0, 7, 0, 0])
    outputs = outputs_of([7, 2], labels)
    never = from_eps([1.0] * 8)
    rounds = chain_rounds(GrammarAcceptance(never, DELIMITERS, Forced.JUMPED).potential(outputs, 0), outputs.offsets)
    assert rounds.start.tolist() == [1, 4, 6, 8]
    assert rounds.emitted.tolist() == [3, 2, 1, 1]
    assert rounds.drafted.tolist() == [2, 1, 0, 0]


def test_knowing_the_grammar_never_costs_rounds() -> None:
    labels = np.tile([7, 0, 0, 5, 4, 4, 4, 5], 50)
    outputs = outputs_of([100] * 4, labels)
    shares = (0.9, 0.2, 0.5, 0.0, 0.0, 0.8, 0.0, 0.0)
    plain = chain_rounds(BASE.potential(outputs, 4), outputs.offsets)
    rounds = {
        treatment: chain_rounds(GrammarAcceptance(BASE, shares, treatment).potential(outputs, 4), outputs.offsets)
        for treatment in Forced
    }
    assert len(rounds[Forced.ACCEPTED]) < len(plain) < len(rounds[Forced.REFUSED])
    assert len(rounds[Forced.JUMPED]) < len(plain)
    assert all(one.emitted.sum() == plain.emitted.sum() for one in rounds.values())


def test_drawn_positions_make_the_expectation_an_average() -> None:
    outputs = outputs_of([100] * 10, np.tile([0, 7], 500))
    half = GrammarAcceptance(BASE, (0.5,) + (0.0,) * 7, Forced.ACCEPTED)
    found = expectation(half, outputs, 4)
    assert found.method is Exactness.GIVEN_KEYS
    mean = expectation(from_eps([0.25] + [0.5] * 7), outputs, 4)
    low, high = found.interval
    assert low - 0.02 < mean.tokens_per_round < high + 0.02


def test_shares_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError):
        GrammarAcceptance(BASE, (0.5,), Forced.ACCEPTED)
    with pytest.raises(ValueError):
        GrammarAcceptance(BASE, (1.5,) + (0.0,) * 7, Forced.ACCEPTED)
