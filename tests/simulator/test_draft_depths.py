"""Draft depths that differ between rounds: by label, and by the number of running requests."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.acceptance.base import Outputs
from simulator.acceptance.table import from_eps
from simulator.config import EngineConfig, SpeculativeMethod
from simulator.cost import DeclaredCost
from simulator.exact import expect
from simulator.lane import DepthCounts
from simulator.policies import GammaByBatchSize, GammaByLabel, PolicyAcceptance, Strictest
from simulator.replay import Replay, ReplayConfig, run
from simulator.sessions import LoadConfig
from simulator.workload import Workload
from tests.simulator.cases import Session, Turn, build, single_turns

COST = DeclaredCost(c_T_s=0.02, delta=0.01, d=0.1, overhead=0.05)
EPS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.1, 0.6, 0.7]


def replayed(workload: Workload, model: Any, gamma: int, concurrency: int, **engine: Any) -> Replay:
    config = EngineConfig(
        max_model_len=100_000,
        num_gpu_blocks=20_000,
        num_speculative_tokens=gamma,
        speculative_method=SpeculativeMethod.MODEL_FREE,
        **engine,
    )
    load = LoadConfig(max_concurrency=concurrency)
    return run(workload, ReplayConfig(engine=config, cost=COST, acceptance=model, load=load))


def same(one: Replay, other: Replay) -> bool:
    columns = ("arrival_s", "first_token_s", "finish_s")
    equal = all(np.array_equal(getattr(one, name), getattr(other, name)) for name in columns)
    counts = ("rounds", "draft_tokens", "accepted_tokens", "decode_gpu_s")
    return equal and all(np.array_equal(getattr(one.by_step, name), getattr(other.by_step, name)) for name in counts)


def mixed(n: int) -> Workload:
    labels = tuple(np.repeat(np.tile([0, 7], 5), 12).tolist())
    return build([Session(turns=(Turn(prompt=(at, 1, 2), outputs=(labels,), parent=None),)) for at in range(n)], 16)


@pytest.mark.parametrize("concurrency", [1, 3])
def test_one_depth_for_all_batch_sizes_is_that_fixed_depth(concurrency: int) -> None:
    workload = mixed(6)
    rows = GammaByBatchSize(((1, 1000, 3),))
    varying = replayed(workload, from_eps(EPS), 8, concurrency, num_speculative_tokens_per_batch_size=rows)
    assert same(varying, replayed(workload, from_eps(EPS), 3, concurrency))


@pytest.mark.parametrize("concurrency", [1, 3])
def test_one_depth_for_all_classes_is_that_fixed_depth(concurrency: int) -> None:
    workload = mixed(6)
    model = PolicyAcceptance(from_eps(EPS), GammaByLabel((4,) * 8))
    varying = replayed(workload, model, 8, concurrency, draft_depth_varies=True)
    assert same(varying, replayed(workload, from_eps(EPS), 4, concurrency))


def test_depth_follows_the_number_of_running_requests() -> None:
    """Two requests, one much longer: no drafts while both run, certain drafts of 4 once one is left."""
    workload = single_turns([16, 16], [40, 200])
    rows = GammaByBatchSize(((1, 1, 4), (2, 2, 0)))
    replay = replayed(workload, from_eps([0.0] * 8), 4, 2, num_speculative_tokens_per_batch_size=rows)
    rounds, drafted = replay.by_step.rounds, replay.by_step.draft_tokens
    assert rounds[0] == 39
    assert drafted[0] == 0
    alone = 200 - 1 - 39
    # prompts of both are computed in one step, so the longer one has 39 tokens when the other ends
    assert rounds[1] == 39 + alone // 5
    assert drafted[1] == 4 * (alone // 5)


def test_a_round_by_class_costs_the_passes_that_it_drafts() -> None:
    """One request at a time: each round costs c_T (1 + o + g (delta + d)) at its own depth g, c_T at 0."""
    workload = mixed(4)
    policy = GammaByLabel((6, 0, 0, 0, 0, 0, 0, 0))
    replay = replayed(workload, PolicyAcceptance(from_eps(EPS), policy), 6, 1, draft_depth_varies=True)
    step = replay.by_step
    drafting, drafted = int(step.drafts.sum()), int(step.draft_tokens.sum())
    rounds = int(step.rounds.sum())
    assert 0 < drafting < rounds
    assert drafted == 6 * drafting
    expected = COST.c_T_s * (rounds + COST.overhead * drafting + (COST.delta + COST.d) * drafted)
    assert float(step.decode_gpu_s.sum()) == pytest.approx(expected, rel=1e-9)


def test_rounds_by_class_agree_with_the_exact_expectation() -> None:
    workload = mixed(300)
    policy = GammaByLabel((6, 0, 0, 0, 0, 0, 0, 2))
    replay = replayed(workload, PolicyAcceptance(from_eps(EPS), policy), 6, 4, draft_depth_varies=True)
    outputs = Outputs(replay.labels, replay.offsets, replay.keys)
    exact = expect(from_eps(EPS), outputs, 6, limits=policy.limits(outputs, 6))
    error = np.std(replay.by_step.rounds - exact.rounds, ddof=1) * np.sqrt(len(exact.rounds))
    assert abs(replay.by_step.rounds.sum() - exact.rounds.sum()) < 4 * error


def test_the_strictest_rule_counts() -> None:
    outputs = Outputs(np.array([0, 7, 0], np.uint8), np.array([0, 3]), np.array([1], np.uint64))
    rules = Strictest((GammaByLabel((5, 0, 0, 0, 0, 0, 0, 2)), GammaByLabel((3, 0, 0, 0, 0, 0, 0, 4))))
    assert rules.limits(outputs, 8).tolist() == [2, 3, 2]


@given(st.lists(st.tuples(st.lists(st.integers(0, 5), min_size=1, max_size=60), st.integers(0, 3)), max_size=60))
@settings(max_examples=50, deadline=None)
def test_deepest_round_of_each_step(joined: list[tuple[list[int], int]]) -> None:
    counts, step, live = DepthCounts(5), 0, {}
    for drafted, passed in joined:
        counts.add(np.array(drafted, np.uint16), step, 1)
        live.update({(step + at, len(live)): depth for at, depth in enumerate(drafted)})
        expected = [
            max([depth for (when, _), depth in live.items() if when == step + at], default=0) for at in range(9)
        ]
        assert counts.deepest(step, 9)[:9].tolist() == expected[: counts.deepest(step, 9).size]
        step += passed


def test_a_depth_beyond_the_engines_is_refused() -> None:
    with pytest.raises(ValueError, match="gamma-by-batch-size drafts 9"):
        EngineConfig(num_speculative_tokens=8, num_speculative_tokens_per_batch_size=GammaByBatchSize(((1, 4, 9),)))
    assert not dataclasses.replace(EngineConfig(), num_speculative_tokens=8).has_draft_depths
