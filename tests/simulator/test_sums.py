"""Sums made piece by piece are numpy's of everything at once, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from simulator import sums
from simulator.sums import long_sum


@pytest.mark.parametrize("part", [128, 1000])
@pytest.mark.parametrize("size", [0, 1, 129, 1000, 1001, 8192, 70_003])
def test_is_the_sum_of_all(monkeypatch: pytest.MonkeyPatch, part: int, size: int) -> None:
    monkeypatch.setattr(sums, "PART", part)
    numbers = np.random.default_rng(size).lognormal(0, 5, size)
    assert long_sum(size, lambda first, last: numbers[first:last]) == float(np.sum(numbers))
