"""Decode cost of depths that differ between the sequences of a step, against the engine's own steps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scenarios.decide import replay_once
from scenarios.law.batchcost import step_cost_per_token
from scenarios.law.curve import Predictor, thinned_outputs
from scenarios.options.read import ReadOptions
from scenarios.options.replay import AcceptanceOptions, CostOptions, LoadOptions, PlatformOptions, ReplayOptions
from scenarios.setup import Setup, set_up
from simulator.metrics import mean_batch
from simulator.policies import DraftPolicy, GammaByLabel
from tests.shared import AGENT_LOOP

POLICY = GammaByLabel((6,) * 6 + (2, 0))


def made(concurrency: int) -> Setup:
    options = ReplayOptions(
        platform=PlatformOptions(num_speculative_tokens=6),
        cost=CostOptions(c_T_ms=20.0, delta=0.01, d=0.1, overhead=0.05),
        acceptance=AcceptanceOptions(eps={"S": 0.2, "R": 0.5, "F": 0.6}),
        load=LoadOptions(max_concurrency=concurrency),
    )
    return set_up([str(AGENT_LOOP)], ReadOptions(), options)


def predictor(setup: Setup, batch: float) -> Predictor:
    outputs, owner = thinned_outputs(setup.workload, setup.baseline, 10**9)
    return Predictor(
        outputs=outputs,
        owner=owner,
        platform=setup.platform,
        choice=setup.choice,
        batch=(batch, mean_batch(setup.baseline)[1]),
        net=lambda cost: cost,
    )


@pytest.mark.parametrize("policy", [None, POLICY])
def test_one_sequence_pays_what_the_law_says(policy: DraftPolicy | None) -> None:
    """Costs are linear in drafts here, so that the law's constants are exact."""
    predict = predictor(made(1), 1.0)
    assert step_cost_per_token(predict, 6, policy) == pytest.approx(predict.relative_cost(6, policy), rel=1e-9)


def test_a_fixed_depth_costs_alike_in_any_batch() -> None:
    setup = made(1)
    one, many = (step_cost_per_token(predictor(setup, batch), 6, None) for batch in (1.0, 16.0))
    assert one == pytest.approx(many)


def test_the_deepest_sequence_sets_the_passes() -> None:
    """The more sequences, the nearer the draft passes of mixed depths come to those of the greatest."""
    setup = made(1)
    costs = [step_cost_per_token(predictor(setup, batch), 6, POLICY) for batch in (1.0, 2.0, 4.0, 16.0, 256.0)]
    assert costs == sorted(costs)
    assert costs[-1] > 1.1 * costs[0]


@pytest.mark.parametrize("concurrency", [1, 4, 8])
def test_the_engine_pays_what_is_predicted_at_its_batch(concurrency: int) -> None:
    setup = made(concurrency)
    engine = replace(setup.platform.engine, draft_depth_varies=True)
    choice = replace(setup.choice, policy=POLICY)
    replay = replay_once(setup.workload, engine, setup.platform, choice, setup.load, setup.seed)
    steps = replay.by_step
    paid = float(steps.decode_gpu_s.sum()) / float(steps.emitted_by_subclass.sum())
    batch = mean_batch(replay)[0]
    plain = 0.020 / batch  # declared costs: a step takes c_T, whatever its batch
    found = step_cost_per_token(predictor(setup, batch), 6, POLICY)
    assert paid / plain == pytest.approx(found, rel=0.06)
    alone = step_cost_per_token(predictor(setup, 1.0), 6, POLICY)
    if concurrency > 1:
        assert abs(paid / plain - found) < abs(paid / plain - alone)
