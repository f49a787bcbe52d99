"""Zeros that were written to are zeros again once they are cleared, and their neighbours are as they were."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.lazyzeros import clear, lazy_zeros


@pytest.mark.parametrize("dtype", [np.bool_, np.int32, np.int64])
@given(bounds=st.tuples(st.integers(0, 20_000), st.integers(0, 20_000)).map(sorted))
def test_clears_just_what_it_is_asked_to(dtype: type[np.generic], bounds: list[int]) -> None:
    zeros = lazy_zeros(20_000, dtype)
    assert not zeros.any()
    zeros[:] = 1
    clear(zeros, *bounds)
    expected = np.ones(20_000, dtype)
    expected[bounds[0] : bounds[1]] = 0
    assert np.array_equal(zeros, expected)
