"""The two-sample test: right where values of one session hang together, and where they do not."""

from __future__ import annotations

import numpy as np
from scipy import stats

from scenarios.synth.report import PERMUTATIONS, Sample, permutation_p


def clustered(rng: np.random.Generator, sessions: int, shift: float = 0.0) -> Sample:
    """Sessions of 10 values around a level of their own."""
    levels = rng.normal(shift, 1, sessions)
    values = np.repeat(levels, 10) + rng.normal(0, 0.3, sessions * 10)
    return Sample(values.tolist(), np.repeat(np.arange(sessions), 10).tolist())


def test_samples_of_one_kind_are_rejected_as_often_as_stated() -> None:
    rng = np.random.default_rng(1)
    pairs = [(clustered(rng, 40), clustered(rng, 60)) for _ in range(80)]
    found = np.array([permutation_p(*pair) for pair in pairs])
    assert stats.binomtest(int((found < 0.1).sum()), found.size, 0.1).pvalue > 0.01
    as_if_independent = [stats.ks_2samp(one.values, other.values).pvalue for one, other in pairs]
    assert np.mean(np.array(as_if_independent) < 0.1) > 0.3


def test_a_difference_between_sessions_is_found() -> None:
    rng = np.random.default_rng(2)
    assert permutation_p(clustered(rng, 60), clustered(rng, 60, shift=2.0)) == 1 / (1 + PERMUTATIONS)


def test_single_values_agree_with_the_test_for_independent_ones() -> None:
    rng = np.random.default_rng(3)
    for shift in (0.0, 0.2, 0.4):
        one, other = rng.normal(0, 1, 120), rng.normal(shift, 1, 150)
        samples = [Sample(values.tolist(), list(range(values.size))) for values in (one, other)]
        expected = float(stats.ks_2samp(one, other).pvalue)
        assert abs(permutation_p(samples[0], samples[1]) - expected) < 0.08


def test_equal_values_have_no_gap() -> None:
    same = Sample([1.0] * 6, [0, 0, 1, 1, 2, 2])
    assert permutation_p(same, same) == 1
