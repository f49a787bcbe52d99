from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simulator.exact
from simulator.exact import expect_rounds
from tests.simulator.strategies import FIRSTS, GAMMAS, LENGTHS, PROBABILITIES, outputs_of


def run_rounds(accepts: tuple[bool, ...], gamma: int, first: int) -> list[tuple[int, int]]:
    """Start and accepted drafts of each round, token by token, if token p is accepted whenever accepts[p]."""
    rounds, at = [], first
    while at < len(accepts):
        taken = 0
        while taken < gamma and at + taken < len(accepts) - 1 and accepts[at + taken]:
            taken += 1
        rounds.append((at, taken))
        at += taken + 1
    return rounds


@given(st.lists(PROBABILITIES, min_size=1, max_size=7), GAMMAS, FIRSTS)
@settings(max_examples=60)
def test_equals_enumeration_of_all_acceptance_patterns(probabilities: list[float], gamma: int, first: int) -> None:
    n = len(probabilities)
    start, share, tested, hit, accepted_from = np.zeros((5, n))
    per_pos = np.zeros(gamma)
    useful = 0.0
    for pattern in product([False, True], repeat=n):
        weight = np.prod([p if ok else 1 - p for p, ok in zip(probabilities, pattern, strict=True)])
        for at, taken in run_rounds(pattern, gamma, first):
            limit = min(gamma, n - 1 - at)
            start[at] += weight
            accepted_from[at] += weight * taken
            share[at : at + taken + 1] += weight / (taken + 1)
            tested[at : at + min(taken + 1, limit)] += weight
            hit[at : at + taken] += weight
            per_pos[:taken] += weight
            useful += weight * limit
    found = expect_rounds([np.array(probabilities)], np.array([0, n]), gamma, first)
    for name, expected in [
        ("start", start), ("share", share), ("tested", tested), ("hit", hit), ("accepted_from", accepted_from),
        ("accepted_per_pos", per_pos), ("rounds", [start.sum()]), ("useful_drafts", [useful]),
        ("drafted", [gamma * start.sum()]), ("tokens", [max(n - first, 0)]), ("accepted", [hit.sum()]),
    ]:  # fmt: skip
        np.testing.assert_allclose(getattr(found, name), expected, atol=1e-12, err_msg=name)


@given(LENGTHS, GAMMAS, FIRSTS, st.data())
def test_outputs_do_not_touch_each_other(lengths: list[int], gamma: int, first: int, data: st.DataObject) -> None:
    offsets = outputs_of(lengths).offsets
    tokens = int(offsets[-1])
    accept = [np.array(data.draw(st.lists(PROBABILITIES, min_size=tokens, max_size=tokens))) for _ in range(2)]
    together = expect_rounds(accept, offsets, gamma, first)
    np.testing.assert_allclose(together.rounds + together.accepted, together.tokens, atol=1e-12)
    np.testing.assert_allclose(together.share.sum(), together.rounds.sum(), atol=1e-12)
    for one, (low, high) in enumerate(pairwise(offsets)):
        alone = expect_rounds([each[low:high] for each in accept], np.array([0, high - low]), gamma, first)
        np.testing.assert_allclose(together.rounds[one], alone.rounds[0], atol=1e-12)
        np.testing.assert_allclose(together.share[low:high], alone.share, atol=1e-12)


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    offsets = np.array([0, 7, 7, 20, 50, 51])
    accept = [np.linspace(0, 1, 51)]
    whole = expect_rounds(accept, offsets, 5)
    monkeypatch.setattr(simulator.exact, "CHUNK_TOKENS", 10)
    parts = expect_rounds(accept, offsets, 5)
    np.testing.assert_allclose(parts.rounds, whole.rounds, rtol=1e-13)
    np.testing.assert_allclose(parts.accepted_per_pos, whole.accepted_per_pos, rtol=1e-13)


def test_by_label_sums_to_the_total() -> None:
    outputs = outputs_of([20, 30])
    found = expect_rounds([np.full(50, 0.7)], outputs.offsets, 4)
    by_label = found.by_label(outputs.labels, 8)
    assert by_label.started.sum() == pytest.approx(found.rounds.sum())
    assert by_label.share.sum() == pytest.approx(found.rounds.sum())
    assert by_label.hit.sum() == pytest.approx(found.accepted.sum())
    assert by_label.accepted_from.sum() == pytest.approx(found.accepted.sum())


def test_nothing_in_gives_nothing() -> None:
    assert expect_rounds([np.zeros(0)], np.array([0]), 4).rounds.size == 0
    assert expect_rounds([np.zeros(0)], np.array([0, 0]), 4).rounds.tolist() == [0.0]


@pytest.mark.parametrize("accept", [[], [np.zeros(3)], [np.full(2, 1.5)], [np.full(2, np.nan)]])
def test_unusable_probabilities_are_refused(accept: list[np.ndarray]) -> None:
    with pytest.raises(ValueError):
        expect_rounds(accept, np.array([0, 2]), 4)
