"""The closed form of a full batch against a replay of the same load."""

from __future__ import annotations

import numpy as np
import pytest

from scenarios.published.steady import Traffic, prompt_work, steady_state
from simulator.acceptance.table import from_eps
from simulator.config import EngineConfig, SpeculativeMethod
from simulator.cost import DeclaredCost, RooflineCost
from simulator.exact import expect
from simulator.hardware import gpu_named, model_named
from simulator.replay import ReplayConfig, run
from simulator.sessions import LoadConfig, SessionMode
from tests.simulator.cases import single_turns
from tests.simulator.strategies import outputs_of

ROOFLINE = RooflineCost(gpu=gpu_named("H200"), target=model_named("Qwen3-32B"), draft=model_named("Qwen3-4B"))
GAMMA = 4


@pytest.mark.parametrize("n_seqs", [1, 8])
def test_throughput_and_time_per_token_are_those_of_a_replay(n_seqs: int) -> None:
    prompt, output = 300, 400
    model = from_eps([0.3] * 8)
    work = single_turns([prompt] * (12 * n_seqs), [output] * (12 * n_seqs))
    engine = EngineConfig(num_speculative_tokens=GAMMA, speculative_method=SpeculativeMethod.DRAFT_MODEL)
    load = LoadConfig(mode=SessionMode.CLOSED, max_concurrency=n_seqs)
    replay = run(work, ReplayConfig(engine=engine, cost=ROOFLINE, acceptance=model, load=load))
    expected = expect(model, outputs_of([output - 1], np.full(output - 1, 7)), GAMMA)
    length = float(expected.tokens.sum() / expected.rounds.sum())
    found = steady_state(
        ROOFLINE,
        Traffic(n_seqs=n_seqs, prompt_tokens=prompt, output_tokens=output, gamma=GAMMA, acceptance_length=length),
    )
    total = float(replay.output_tokens.sum()) / replay.duration_s
    assert found.output_tokens_per_s == pytest.approx(total, rel=0.05)
    tpot = (replay.finish_s - replay.first_token_s) / (output - 1)
    assert found.tpot_s == pytest.approx(float(tpot.mean()), rel=0.05)
    first = replay.first_token_s[0] - replay.arrival_s[0]
    if n_seqs == 1:
        assert found.ttft_s == pytest.approx(float(first), rel=1e-6)


def test_one_sequence_with_declared_costs_is_arithmetic() -> None:
    cost = DeclaredCost(c_T_s=0.02, delta=0.01, d=0.1, overhead=0.05, prefill_s_per_token=1e-4)
    found = steady_state(cost, Traffic(n_seqs=1, prompt_tokens=1000, output_tokens=300, gamma=5, acceptance_length=3.0))
    round_s = 0.02 * (1 + 0.05 + 5 * 0.11)
    assert found.tpot_s == pytest.approx(round_s / 3)
    assert found.output_tokens_per_s == pytest.approx(300 / (100 * round_s + 0.1))
    assert found.ttft_s == pytest.approx(0.1)


def test_a_prompt_has_a_pair_for_each_earlier_token_and_itself() -> None:
    assert prompt_work(4) == (4, 10, 0, 1)
