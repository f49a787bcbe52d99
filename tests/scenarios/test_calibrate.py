"""Parameters put into simulated rounds and costs come out of the calibration."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from scenarios.calibration.counterfits import fitted_kappa, hit_share
from scenarios.calibration.roundcost import fitted_round_cost
from scenarios.server.run import Drafting, ServerRun
from simulator.acceptance.rounds import chain_rounds
from simulator.acceptance.table import from_conditional
from simulator.acceptance.tally import spec_decode_counts
from tests.simulator.strategies import outputs_of

RATES = [0.8, 0.7, 0.6, 0.5]


@cache
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
    assert (fit.c_T_s.value, fit.o.value, fit.delta_plus_d.value) == pytest.approx((c_T_s, o, x))
    assert fit.largest_residual < 1e-9
    assert fit.tpot_s(8, runs[3].acceptance_length) == pytest.approx(runs[3].tpot_s)
    one_depth = fitted_round_cost([runs[0], runs[2]])
    assert one_depth.o.value == 0
    assert one_depth.delta_plus_d.value == pytest.approx(x + o / 4)


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


C_T_S, PER_ROUND, DELTA, D_PASS = 0.02, 0.08, 0.01, 0.15


def timed(
    gamma: int, drafting: Drafting = Drafting.MODEL, noise: float = 0.0, error_s: float | None = None
) -> ServerRun:
    """A run whose time per token is what the constants above say, off by *noise* standard errors."""
    run = replace(simulated(gamma), drafting=drafting, tpot_error_s=error_s, num_requests=100)
    passes = D_PASS if drafting is Drafting.MODEL else 0.0
    cost = D_PASS if drafting is Drafting.ALONE else 1 + (PER_ROUND + gamma * (DELTA + passes) if gamma else 0.0)
    return replace(run, tpot_s=C_T_S * cost / run.acceptance_length + noise * (error_s or 0.0))


@pytest.mark.parametrize("parting", [timed(4, Drafting.FREE), timed(0, Drafting.ALONE)])
def test_a_draft_free_run_or_the_draft_alone_parts_delta_from_d(parting: ServerRun) -> None:
    fit = fitted_round_cost([timed(0), timed(2), timed(8), parting])
    assert fit.delta is not None
    assert fit.d is not None
    assert (fit.o.value, fit.delta.value, fit.d.value) == pytest.approx((PER_ROUND, DELTA, D_PASS))
    assert fit.delta_plus_d.value == pytest.approx(DELTA + D_PASS)
    together = fitted_round_cost([timed(0), timed(2), timed(8)])
    assert (together.delta, together.d) == (None, None)


def test_rounds_that_drafted_nothing_cost_a_plain_pass() -> None:
    """An n-gram drafter that finds a match in every other round: tokens are counted, so the empty rounds are known."""
    run = simulated(4)
    tokens = 2 * run.num_drafts + run.num_accepted_tokens
    spent = 2 * run.num_drafts + run.num_drafts * PER_ROUND + run.num_draft_tokens * DELTA
    sparse = replace(
        run,
        drafting=Drafting.FREE,
        tpot_s=C_T_S * spent / tokens,
        num_requests=400,
        num_output_tokens=tokens + 400,
    )
    fit = fitted_round_cost([timed(0), timed(2), timed(8), sparse])
    assert fit.delta is not None
    assert (fit.o.value, fit.delta.value) == pytest.approx((PER_ROUND, DELTA))


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    noise = np.random.default_rng(7).standard_normal((400, 5))
    held = np.zeros(4)
    for shifts in noise:
        kinds = [(0, Drafting.MODEL), (2, Drafting.MODEL), (8, Drafting.MODEL), (4, Drafting.FREE), (0, Drafting.ALONE)]
        runs = [timed(gamma, kind, shift, 5e-5) for (gamma, kind), shift in zip(kinds, shifts.tolist(), strict=True)]
        fit = fitted_round_cost(runs)
        assert fit.delta is not None
        assert fit.d is not None
        for at, (one, truth) in enumerate(
            ((fit.c_T_s, C_T_S), (fit.o, PER_ROUND), (fit.delta, DELTA), (fit.d, D_PASS))
        ):
            assert one.low is not None
            assert one.high is not None
            held[at] += one.low <= truth <= one.high
    assert (held >= 0.92 * len(noise)).all()  # wider than 95 % where a fit misses by more than the errors allow


def test_a_constant_below_zero_within_its_error_is_taken_as_zero() -> None:
    runs = [replace(run, tpot_error_s=2e-3) for run in (timed(0), timed(2), timed(8))]
    low = [runs[0], replace(runs[1], tpot_s=(runs[1].tpot_s or 0) - 2e-3), runs[2]]
    fit = fitted_round_cost(low)
    assert fit.o.value == 0
    assert any(note.startswith("o came out as") for note in fit.notes)
