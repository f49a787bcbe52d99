from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator import law
from simulator.predictions import Ruling, p1, r1, r2, r3, r4

UNIT = st.floats(0, 1)
GAMMAS = st.integers(1, 32)
COSTS = st.floats(0, 0.6)


@given(UNIT, st.integers(0, 32))
def test_tau_is_the_geometric_sum(eps: float, gamma: int) -> None:
    expected = math.fsum((1 - eps) ** i for i in range(1, gamma + 1))
    assert law.tau(eps, gamma) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@given(GAMMAS, COSTS, COSTS)
def test_limits(gamma: int, delta: float, d: float) -> None:
    assert law.schema_ceiling_speedup(gamma, delta, d) == pytest.approx((gamma + 1) / (1 + gamma * (delta + d)))
    assert law.entropy_floor_saving(gamma, delta, d) == pytest.approx(-gamma * (delta + d))


@given(UNIT, st.integers(0, 32), COSTS, COSTS, COSTS)
def test_speedup_and_saving_say_the_same(eps: float, gamma: int, delta: float, d: float, o: float) -> None:
    assert law.speedup(eps, gamma, delta, d, o) == pytest.approx(1 / (1 - law.saving(eps, gamma, delta, d, o)))


@given(GAMMAS, COSTS, COSTS, COSTS)
def test_exact_break_even_saves_nothing(gamma: int, delta: float, d: float, o: float) -> None:
    eps_star = law.eps_star_exact(gamma, delta, d, o)
    if eps_star is None:
        assert law.saving(0.0, gamma, delta, d, o) < 0
    else:
        assert law.saving(eps_star, gamma, delta, d, o) == pytest.approx(0, abs=1e-9)


def test_break_even_is_absent_where_certain_acceptance_loses() -> None:
    assert law.eps_star_exact(4, 0.6, 0.6) is None
    assert law.w_S_star_exact(4, 0.6, 0.6, 0.6, 0.95, 0.3) is None


def test_first_order_break_even_meets_the_exact_one_near_certain_acceptance() -> None:
    first, exact = law.eps_star_first_order(8, 0.499, 0.5), law.eps_star_exact(8, 0.499, 0.5)
    assert exact == pytest.approx(first, rel=1e-3)
    assert law.eps_star_exact(8, 0.01, 0.1125) > 2 * law.eps_star_first_order(8, 0.01, 0.1125)


@given(st.floats(1e-3, 0.999), st.floats(1e-3, 1))
def test_break_even_share_gives_the_break_even_mix(eps_star: float, kappa: float) -> None:
    share = law.w_S_star(eps_star, kappa, 0.9, 0.2)
    rho_bar = share * 0.9 + (1 - share) * 0.2
    assert kappa * (1 - rho_bar) == pytest.approx(eps_star)


def test_marginal_schema_value_is_the_slope_of_tau_at_certain_acceptance() -> None:
    gamma, kappa, rho_S, rho_F, dw = 8, 0.5, 0.95, 0.3, 1e-7
    slope = (1 - law.tau(kappa * (rho_S - rho_F) * dw, gamma) / gamma) * gamma / dw
    assert law.dtau_dw(gamma, kappa, rho_S, rho_F) == pytest.approx(slope, rel=1e-5)


def test_eps_reports_its_clip() -> None:
    assert law.eps(0.5, 0.4) == (pytest.approx(0.3), False)
    assert law.eps(2.0, 0.4) == (1.0, True)


def test_arrays_give_the_scalars() -> None:
    eps = np.array([0.0, 0.2, 1.0])
    np.testing.assert_array_equal(law.saving(eps, 8, 0.01, 0.1), [law.saving(x, 8, 0.01, 0.1) for x in eps.tolist()])


@given(UNIT, COSTS, COSTS)
def test_best_gamma_beats_its_neighbours(eps: float, delta: float, d: float) -> None:
    best = law.best_gamma(eps, range(33), delta, d)
    assert best.speedup == max(law.speedup(eps, gamma, delta, d) for gamma in range(33))
    assert all(law.speedup(eps, gamma, delta, d) < best.speedup for gamma in range(best.gamma))


def test_best_gamma_rises_with_acceptance() -> None:
    depths = [law.best_gamma(eps, range(17), 0.02, 0.12).gamma for eps in (0.9, 0.5, 0.3, 0.1, 0.0)]
    assert depths[0] == 0
    assert depths == sorted(depths)
    assert depths[-1] == 16


def test_span_limit_is_below_the_mean_field() -> None:
    w, eps = (0.5, 0.25, 0.25), (0.05, 0.35, 0.6)
    mean_field = law.tokens_per_round(law.mean_over_classes(w, eps), 8)
    assert law.span_limit_tokens_per_round(w, eps, 8) < mean_field


@pytest.mark.parametrize(
    "call",
    [
        lambda: law.tau(1.5, 4),
        lambda: law.tau(0.5, -1),
        lambda: law.eps(-1, 0.5),
        lambda: law.eps(1, 1.5),
        lambda: law.eps_star_exact(0, 0.1, 0.1),
        lambda: law.rho_star(0.3, 0.0),
        lambda: law.C_total(0.5, 0, 0, 1, 1, 1),
        lambda: law.mean_over_classes((0.5, 0.6), (1, 1)),
        lambda: law.best_gamma(0.5, [], 0.1, 0.1),
        lambda: law.rho_of_entropy(-0.1),
    ],
)
def test_values_out_of_range_are_refused(call) -> None:
    with pytest.raises(ValueError):
        call()


def test_predicates_can_come_out_either_way() -> None:
    assert p1(4.0, 2.0, 1.0).ruling is Ruling.HOLDS
    assert p1(4.0, 1.0, 2.0).ruling is Ruling.REJECTED
    assert p1(1.4, 1.2, 1.0).ruling is Ruling.REJECTED
    assert p1(4.0, None, 1.0).ruling is Ruling.UNTESTED
    assert r1(2.0, 2.0).ruling is Ruling.REJECTED
    assert r1(2.1, 2.0).ruling is Ruling.HOLDS
    assert r2(0.6, -0.01).ruling is Ruling.REJECTED
    assert r2(0.59, -0.01).ruling is Ruling.UNTESTED
    assert r3(1.14, 1.0).ruling is Ruling.HOLDS
    assert r3(1.16, 1.0).ruling is Ruling.REJECTED
    assert r4(1, 100).ruling is Ruling.REJECTED
    assert r4(0, 100).ruling is Ruling.HOLDS
