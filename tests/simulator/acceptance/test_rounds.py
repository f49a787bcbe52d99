from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.acceptance.base import Outputs, Potential
from simulator.acceptance.rounds import chain_rounds
from simulator.acceptance.table import from_conditional
from tests.simulator.strategies import FIRSTS, GAMMAS, LENGTHS, outputs_of

MODEL = from_conditional([0.7, 0.5, 0.9])


@given(LENGTHS, GAMMAS, FIRSTS, st.integers(0, 99))
def test_chain_is_the_walk_from_round_to_round(lengths: list[int], gamma: int, first: int, seed: int) -> None:
    outputs = outputs_of(lengths, seed=seed)
    potential = MODEL.potential(outputs, gamma)
    rounds = chain_rounds(potential, outputs.offsets, first)
    for one, (low, high) in enumerate(zip(outputs.offsets[:-1], outputs.offsets[1:], strict=True)):
        walked, at = [], low + first
        while at < high:
            emitted = min(int(potential.accepted[at]) + 1, high - at)
            walked.append((at, emitted, potential.accepted[at], potential.drafted[at]))
            at += emitted
        own = slice(rounds.offsets[one], rounds.offsets[one + 1])
        columns = (rounds.start[own], rounds.emitted[own], rounds.accepted[own], rounds.drafted[own])
        assert list(zip(*columns, strict=True)) == walked
    assert rounds.emitted.sum() == sum(max(length - first, 0) for length in lengths)
    assert np.array_equal(rounds.emitted, rounds.accepted + 1)


def test_no_drafts_is_one_round_a_token() -> None:
    outputs = outputs_of([5, 1, 0, 3])
    rounds = chain_rounds(MODEL.potential(outputs, 0), outputs.offsets)
    assert rounds.start.tolist() == [1, 2, 3, 4, 7, 8]
    assert rounds.offsets.tolist() == [0, 4, 4, 4, 6]


@given(LENGTHS, st.integers(0, 99), st.integers(0, 6), st.integers(0, 6))
def test_depths_are_paired(lengths: list[int], seed: int, small: int, large: int) -> None:
    outputs = outputs_of(lengths, seed=seed)
    small, large = sorted((small, large))
    deep, shallow = MODEL.potential(outputs, large), MODEL.potential(outputs, small)
    assert np.array_equal(deep.cut(small).accepted, shallow.accepted)
    assert np.array_equal(deep.cut(small).drafted, shallow.drafted)


def test_outcomes_belong_to_attempts_not_to_the_batch() -> None:
    outputs = outputs_of([30, 11, 40], seed=3)
    whole = MODEL.potential(outputs, 4).accepted
    last = Outputs(outputs.labels[41:], np.array([0, 40]), outputs.keys[2:])
    assert np.array_equal(MODEL.potential(last, 4).accepted, whole[41:])


def test_one_limit_per_first_token() -> None:
    potential = Potential(np.array([3, 2, 1, 0], np.int16), np.full(4, 4, np.int16))
    cut = potential.cut(np.array([0, 1, 2, 3], np.int16))
    assert cut.accepted.tolist() == [0, 1, 1, 0]
    assert cut.drafted.tolist() == [0, 1, 2, 3]


def test_shapes_that_disagree_are_refused() -> None:
    with pytest.raises(ValueError, match="offsets"):
        Outputs(np.zeros(3, np.uint8), np.array([0, 2]), np.zeros(1, np.uint64))
    with pytest.raises(ValueError, match="one key per attempt"):
        Outputs(np.zeros(3, np.uint8), np.array([0, 3]), np.zeros(2, np.uint64))
    with pytest.raises(ValueError, match="outcomes for"):
        chain_rounds(Potential(np.zeros(2, np.int16), np.zeros(2, np.int16)), np.array([0, 3]))
