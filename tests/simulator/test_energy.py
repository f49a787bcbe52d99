"""Energy between idle and the board's limit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.energy import BoardPower, energy
from simulator.hardware import gpu_named

BOARD = BoardPower.of(gpu_named("H200"))


def test_figures_of_an_hour_half_busy() -> None:
    found = energy([BOARD], busy_s=1800, duration_s=3600, output_tokens=410_000, tasks=10)
    assert found.mean_watts == pytest.approx((120 + 700) / 2)
    assert found.joules == pytest.approx(410 * 3600)
    assert found.joules_per_output_token == pytest.approx(3.6)
    assert found.kwh_per_1000_tasks == pytest.approx(0.41 * 100)


@given(st.floats(0, 1), st.floats(1e-3, 1e6), st.integers(1, 8))
def test_energy_lies_between_idle_and_limit_and_adds_over_boards(share: float, duration_s: float, boards: int) -> None:
    one, many = (
        energy([BOARD] * n, busy_s=share * duration_s, duration_s=duration_s, output_tokens=1, tasks=1)
        for n in (1, boards)
    )
    assert 120 * duration_s * (1 - 1e-9) <= one.joules <= 700 * duration_s * (1 + 1e-9)
    assert many.joules == pytest.approx(boards * one.joules)


def test_without_output_or_tasks_there_are_no_ratios() -> None:
    found = energy([BOARD], busy_s=0, duration_s=0, output_tokens=0, tasks=0)
    assert (found.joules, found.joules_per_output_token, found.kwh_per_1000_tasks) == (0, None, None)


@pytest.mark.parametrize(("idle", "limit"), [(-1, 700), (800, 700), (100, float("inf")), (float("nan"), 700)])
def test_impossible_powers_are_refused(idle: float, limit: float) -> None:
    with pytest.raises(ValueError, match="--idle-watts is"):
        BoardPower(idle_watts=idle, max_watts=limit)


def test_more_busy_time_than_time_is_refused() -> None:
    with pytest.raises(ValueError, match="busy for 2 s of 1 s"):
        energy([BOARD], busy_s=2, duration_s=1, output_tokens=1, tasks=1)
