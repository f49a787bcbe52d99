"""A multiset in short form against the same numbers written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator import sums, weighted
from simulator.weighted import NOTHING, Weighted, joined

pairs = st.lists(st.tuples(st.floats(0, 1e3), st.integers(0, 5)), min_size=1, max_size=30)


def _weighted(items: list[tuple[float, int]]) -> Weighted:
    return Weighted(np.array([value for value, _ in items]), np.array([count for _, count in items], dtype=np.int64))


@given(pairs.filter(lambda items: any(count for _, count in items)), st.lists(st.floats(0, 100), min_size=1))
def test_figures_are_those_of_all_numbers(items: list[tuple[float, int]], marks: list[float]) -> None:
    numbers = np.array([value for value, count in items for _ in range(count)])
    short = _weighted(items)
    assert short.size == numbers.size
    np.testing.assert_array_equal(short.expand(), np.sort(numbers))
    np.testing.assert_array_equal(short.percentiles(marks), np.percentile(numbers, marks))
    assert short.median() == np.median(numbers)
    assert short.max() == numbers.max()
    assert short.mean() == pytest.approx(numbers.mean(), rel=1e-12)
    assert short.std() == pytest.approx(numbers.std(), rel=1e-6, abs=1e-9)


@given(st.lists(pairs, max_size=4), st.integers(0, 9))
def test_parts_zeros_and_scale_are_those_of_all_numbers(parts: list[list[tuple[float, int]]], zeros: int) -> None:
    numbers = [2 * value for part in parts for value, count in part for _ in range(count)] + [0.0] * zeros
    found = joined([_weighted(part) for part in parts]).scaled(2.0).with_zeros(zeros)
    np.testing.assert_array_equal(found.expand(), np.sort(numbers))


def test_nothing_is_empty() -> None:
    assert NOTHING.size == 0
    assert joined([]).expand().size == 0


@pytest.mark.parametrize("spread", [0.0, 1e-9, 3.0])
def test_a_long_one_is_looked_at_in_parts_to_the_same_bits(monkeypatch: pytest.MonkeyPatch, spread: float) -> None:
    generator = np.random.default_rng(5)
    values = generator.lognormal(0, spread, 9001) * generator.choice([1.0, -1.0, 0.0], 9001)
    whole = Weighted(values, generator.integers(0, 4, 9001)).scaled(1e3).with_zeros(2000)
    marks = [0, 0.1, 12, 50, 99, 99.97, 100]
    expected = (whole.mean(), whole.std(), whole.max(), whole.median(), *whole.percentiles(marks))
    np.testing.assert_array_equal(whole.percentiles(marks), np.percentile(whole.expand(), marks))
    for module in (weighted, sums):
        monkeypatch.setattr(module, "PART", 512)
    assert (whole.mean(), whole.std(), whole.max(), whole.median(), *whole.percentiles(marks)) == expected
