"""Searches against trying everything."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios.plan.search import LEAST_RATIO, fewest, largest


@given(st.integers(1, 200), st.integers(1, 201), st.integers(1, 200), st.lists(st.floats(-10, 1e6), min_size=1))
def test_fewest_is_the_first_that_passes(most: int, first: int, start: int, guesses: list[float]) -> None:
    given_out = iter(guesses * 400)
    found = fewest(lambda n: n, lambda n: n >= first, start, most, lambda _: next(given_out))
    assert found.count == (first if first <= most else None)
    assert found.breaches == ()
    if found.count is not None and found.count > 1:
        assert found.count - 1 in found.tried
    assert len(found.tried) <= 2 * most.bit_length() + 4


def test_a_larger_number_that_fails_is_said() -> None:
    found = fewest(lambda n: n, lambda n: n in (4, 8, 9), 4, 9, lambda n: n)
    assert found.count == 4
    assert [(one.passed, one.failed) for one in found.breaches] == [(4, 5)]


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_largest_is_found_to_within_the_ratio(limit: float, start: float) -> None:
    found = largest(lambda value: value, lambda value: value <= limit, start)
    assert found.value is not None
    assert found.value <= limit < found.value * LEAST_RATIO
    assert min(value for value in found.tried if value > found.value) <= found.value * LEAST_RATIO
    assert found.breaches == ()


def test_nothing_passes() -> None:
    assert largest(lambda value: value, lambda _: False, 1.0).value is None


def test_a_smaller_rate_that_fails_is_said() -> None:
    found = largest(lambda value: value, lambda value: 1.0 <= value <= 1.5, 1.0)
    assert found.value == pytest.approx(1.5, rel=0.03)
    assert found.breaches == ()
    odd = largest(lambda value: value, lambda value: value == 1.0, 1.0)
    assert odd.value == 1.0
    assert [(one.passed, one.failed) for one in odd.breaches] == [(1.0, 0.8)]
