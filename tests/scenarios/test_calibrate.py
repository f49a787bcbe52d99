"""Parameters put into simulated rounds and costs come out of the calibration."""

from __future__ import annotations

import numpy as np
import pytest

from scenarios.calibration.calibrate import calibrated_profile, fitted_kappa, fitted_round_cost, hit_share
from scenarios.server.run import ServerRun
from simulator.acceptance.rounds import chain_rounds
from simulator.acceptance.table import from_conditional
from simulator.acceptance.tally import spec_decode_counts
from simulator.defaultprofile import DEFAULT_PROFILE
from simulator.origin import Origin
from tests.simulator.strategies import outputs_of

RATES = [0.8, 0.7, 0.6, 0.5]


def simulated(gamma: int, tpot_s: float | None = None) -> ServerRun:
    if gamma == 0:
        return ServerRun(source="plain", tpot_s=tpot_s)
    outputs = outputs_of([500] * 400)
    counts = spec_decode_counts(chain_rounds(from_conditional(RATES).potential(outputs, gamma), outputs.offsets), gamma)
    return ServerRun(
        source=f"gamma {gamma}",
        num_drafts=counts.num_drafts,
        num_draft_tokens=counts.num_draft_tokens,
        num_accepted_tokens=counts.num_accepted_tokens,
        accepted_per_pos=tuple(counts.num_accepted_tokens_per_pos.tolist()),
        tpot_s=tpot_s,
    )


def test_acceptance_per_depth_comes_back() -> None:
    profile = calibrated_profile(DEFAULT_PROFILE, [simulated(4)], "2026-01-01")
    np.testing.assert_allclose(profile.table().table, np.tile(RATES, (8, 1)), atol=0.012)
    eps = profile.eps["F"]
    assert eps.origin is Origin.MEASURED
    assert eps.low < 0.2 < eps.high
    assert eps.date == "2026-01-01"


def test_kappa_comes_back() -> None:
    outputs = outputs_of([500] * 400)
    kappa, rho_bar = 0.6, 0.5
    counts = spec_decode_counts(
        chain_rounds(from_conditional([1 - kappa * (1 - rho_bar)]).potential(outputs, 4), outputs.offsets), 4
    )
    run = ServerRun(
        source="x",
        num_drafts=counts.num_drafts,
        num_accepted_tokens=counts.num_accepted_tokens,
        accepted_per_pos=tuple(counts.num_accepted_tokens_per_pos.tolist()),
    )
    assert fitted_kappa(run, rho_bar) == pytest.approx(kappa, rel=0.02)
    for unusable, rho in ((run, 1.0), (simulated(0), 0.5)):
        with pytest.raises(ValueError):
            fitted_kappa(unusable, rho)


def test_round_cost_constants_come_back() -> None:
    c_T_s, o, x = 0.016, 0.1, 0.12
    runs = [simulated(0, c_T_s)]
    for gamma in (2, 4, 8):
        run = simulated(gamma)
        runs.append(simulated(gamma, c_T_s * (1 + o + gamma * x) / run.acceptance_length))
    fit = fitted_round_cost(runs)
    assert (fit.c_T_s, fit.o, fit.delta_plus_d) == pytest.approx((c_T_s, o, x))
    assert fit.largest_residual < 1e-9
    assert fit.tpot_s(8, runs[3].acceptance_length) == pytest.approx(runs[3].tpot_s)
    one_depth = fitted_round_cost([runs[0], runs[2]])
    assert one_depth.o == 0
    assert one_depth.delta_plus_d == pytest.approx(x + o / 4)


@pytest.mark.parametrize(
    "runs", [[], [simulated(0, 0.01)], [simulated(2, 0.01)], [simulated(0, 0.01), simulated(2, 0.001)]]
)
def test_too_little_or_impossible_data_is_refused(runs: list[ServerRun]) -> None:
    with pytest.raises(ValueError):
        fitted_round_cost(runs)


def test_hit_share_is_weighted_by_tokens() -> None:
    runs = [ServerRun(source="a", prefix_queries_tokens=q, prefix_hits_tokens=h) for q, h in ((100, 90), (900, 0))]
    assert hit_share(runs) == pytest.approx(0.09)
    assert hit_share([ServerRun(source="a")]) is None
