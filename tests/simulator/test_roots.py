"""The root finder against that of scipy, to the last bit."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from simulator.roots import find_root


@given(st.floats(0.01, 8.0), st.integers(1, 16), st.sampled_from([1e-16, 1e-15, 2e-12, 1e-3]))
def test_roots_are_those_of_scipy(wanted: float, power: int, xtol: float) -> None:
    def geometric(x: float) -> float:
        return float(sum(x**k for k in range(1, power + 1))) - min(wanted, power)

    assert find_root(geometric, 0.0, 1.0, xtol=xtol) == brentq(geometric, 0.0, 1.0, xtol=xtol)


@given(st.floats(-3, 3), st.floats(-20, 20), st.floats(0.1, 9))
def test_bent_functions_have_the_roots_of_scipy(shift: float, slope: float, bend: float) -> None:
    def bent(x: float) -> float:
        return math.tanh(bend * (x - shift)) + slope * (x - shift) ** 3

    low, high = shift - 1.3, shift + 0.9
    if (bent(low) < 0) == (bent(high) < 0):
        with pytest.raises(ValueError, match="one sign"):
            find_root(bent, low, high)
    else:
        assert find_root(bent, low, high) == brentq(bent, low, high)


def test_an_end_may_be_the_root() -> None:
    assert find_root(lambda x: x, 0.0, 1.0) == 0.0
    assert find_root(lambda x: x - 1, 0.0, 1.0) == 1.0
