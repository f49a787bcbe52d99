from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.acceptance.expectation import expectation
from simulator.acceptance.rounds import chain_rounds
from simulator.acceptance.table import from_eps
from simulator.acceptance.threshold import Exactness
from simulator.exact import expect
from simulator.law import saving
from simulator.policies import (
    ConfidenceStop,
    GammaByBatchSize,
    GammaByLabel,
    PolicyAcceptance,
    best_gamma_by_label,
)
from tests.simulator.strategies import outputs_of

EPS = [0.02, 0.1, 0.05, 0.3, 0.5, 0.03, 0.35, 0.9]


def test_label_rule_looks_at_the_token_before_the_round() -> None:
    outputs = outputs_of([3, 2], np.array([0, 6, 7, 7, 0]))
    limits = GammaByLabel((9, 0, 0, 0, 0, 0, 5, 2)).limits(outputs, 8)
    assert limits.tolist() == [2, 8, 5, 2, 2]


def test_exact_and_sampled_rounds_agree_under_a_policy() -> None:
    labels = np.repeat(np.tile([0, 4, 6, 7], 10), 25)
    policy = GammaByLabel((8, 0, 0, 0, 2, 0, 4, 0))
    model = PolicyAcceptance(from_eps(EPS), policy)
    found = expectation(model, outputs_of([100] * 10, labels), 8)
    assert found.method is Exactness.EXACT
    counts, drafted = [], []
    for seed in range(80):
        outputs = outputs_of([100] * 10, labels, seed)
        rounds = chain_rounds(model.potential(outputs, 8), outputs.offsets)
        counts.append(len(rounds))
        drafted.append(rounds.drafted.sum())
    assert abs(np.mean(counts) - found.rounds) < 3 * np.std(counts, ddof=1) / np.sqrt(80)
    limits = policy.limits(outputs, 8)
    exact = expect(from_eps(EPS), outputs, 8, limits=limits)
    assert abs(np.mean(drafted) - exact.drafted.sum()) < 3 * np.std(drafted, ddof=1) / np.sqrt(80)


def test_depth_by_label_saves_more_than_any_one_depth() -> None:
    labels = np.repeat(np.tile([0, 7], 10), 100)
    outputs = outputs_of([2000], labels)
    delta, d = 0.01, 0.18
    policy = best_gamma_by_label(EPS, range(17), delta, d)
    assert policy.gamma[7] == 0
    assert all(saving(EPS[0], policy.gamma[0], delta, d) >= saving(EPS[0], gamma, delta, d) for gamma in range(17))

    def cost(gamma: int, limits: np.ndarray | None) -> float:
        found = expect(from_eps(EPS), outputs, gamma, limits=limits)
        return float(found.rounds.sum() + found.drafted.sum() * (delta + d))

    assert cost(16, policy.limits(outputs, 16)) < min(cost(gamma, None) for gamma in range(17))


def test_confidence_stops_where_the_chance_falls_below_the_threshold() -> None:
    outputs = outputs_of([6], np.array([0, 0, 3, 3, 3, 0]))
    limits = ConfidenceStop(from_eps(EPS), 0.6).limits(outputs, 4)
    assert limits[0] == 3  # 0.98 * 0.98 * 0.7 = 0.67, times 0.7 = 0.47
    assert limits[2] == 1
    everything = ConfidenceStop(from_eps(EPS), 0.0).limits(outputs, 4)
    assert everything.tolist() == [4] * 6


@given(st.integers(1, 600))
def test_batch_size_rows(batch_size: int) -> None:
    rule = GammaByBatchSize(((5, 512, 1), (1, 4, 3)))
    assert rule.gamma(batch_size) == (3 if batch_size <= 4 else 1 if batch_size <= 512 else 0)


@pytest.mark.parametrize(
    "call",
    [
        lambda: GammaByLabel((1, 2)),
        lambda: GammaByBatchSize(((1, 4, 2), (4, 8, 1))),
        lambda: GammaByBatchSize(((4, 1, 2),)),
        lambda: ConfidenceStop(from_eps(EPS), 1.5),
    ],
)
def test_unusable_rules_are_refused(call) -> None:
    with pytest.raises(ValueError):
        call()
