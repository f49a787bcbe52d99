"""Entropy bounds against distributions that are known in full."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.entropy import entropy_bounds

WEIGHTS = st.lists(st.floats(1e-6, 1.0), min_size=2, max_size=12)


@given(WEIGHTS, st.integers(0, 12), st.data())
def test_the_entropy_of_the_whole_lies_between_the_bounds(weights: list[float], k: int, data: st.DataObject) -> None:
    whole = np.sort(np.array(weights) / np.sum(weights))[::-1]
    chosen = float(data.draw(st.sampled_from(whole.tolist())))
    true = float(-(whole * np.log(whole)).sum())
    found = entropy_bounds(np.log(whole[:k]).tolist(), log(chosen), len(whole))
    assert found.least <= true + 1e-9
    assert found.most >= true - 1e-9
    if k >= len(whole):
        assert found.least == pytest.approx(true)
        assert found.most == pytest.approx(true)
    if k:
        assert found.likeliest == pytest.approx(whole[0])


@given(WEIGHTS, st.integers(1, 11))
def test_more_of_the_likeliest_tokens_never_widen_the_bounds(weights: list[float], k: int) -> None:
    whole = np.sort(np.array(weights) / np.sum(weights))[::-1]
    few, more = (entropy_bounds(np.log(whole[:n]).tolist(), log(whole[0]), len(whole)) for n in (k, k + 1))
    assert more.least >= few.least - 1e-9
    assert more.most <= few.most + 1e-9


def test_a_certain_token_has_no_entropy() -> None:
    assert entropy_bounds([0.0], 0.0, 1000) == (0.0, 0.0, 1.0)


def test_a_token_beyond_the_likeliest_adds_to_what_is_known() -> None:
    with_it, without = entropy_bounds([log(0.5)], log(0.1), 100), entropy_bounds([log(0.5)], log(0.5), 100)
    assert with_it.most < without.most
    assert with_it.likeliest == without.likeliest == pytest.approx(0.5)
