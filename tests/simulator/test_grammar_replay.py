"""The engine under a grammar: what it counts is what the rounds of its outputs come to."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.acceptance.base import Outputs
from simulator.acceptance.grammar import Constraint, GrammarAcceptance, GrammarMode
from simulator.acceptance.recorded import Attempts
from simulator.acceptance.rounds import chain_rounds
from simulator.acceptance.table import from_eps
from simulator.acceptance.tally import spec_decode_counts, tally
from simulator.config import EngineConfig, SpeculativeMethod
from simulator.cost import DeclaredCost
from simulator.replay import Replay, ReplayConfig, attempt_keys, run
from simulator.sessions import LoadConfig
from simulator.workload import Workload
from tests.simulator.cases import Session, Turn, build
from tokenclass.classes import N_SUBCLASSES

EPS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.1, 0.6, 0.7]
GAMMA = 4
COST = DeclaredCost(c_T_s=0.02, delta=0.01, d=0.1, overhead=0.05)


def workload() -> Workload:
    labels = tuple(np.repeat(np.tile([7, 0, 4, 5], 5), 6).tolist())
    return build([Session(turns=(Turn(prompt=(at, 1, 2), outputs=(labels,), parent=None),)) for at in range(9)], 16)


def model(work: Workload, mode: GrammarMode) -> GrammarAcceptance:
    forced = (work.labels != 7) & (np.random.default_rng(1).random(work.labels.size) < 0.5)
    return GrammarAcceptance(from_eps(EPS), Constraint(mode, Attempts(attempt_keys(work, 0), work.offsets), forced))


def replayed(work: Workload, acceptance: GrammarAcceptance, concurrency: int, blocks: int = 20_000) -> Replay:
    config = EngineConfig(
        max_model_len=512,
        num_gpu_blocks=blocks,
        num_speculative_tokens=GAMMA,
        speculative_method=SpeculativeMethod.MODEL_FREE,
        draft_depth_varies=True,
    )
    load = LoadConfig(max_concurrency=concurrency)
    return run(work, ReplayConfig(engine=config, cost=COST, acceptance=acceptance, load=load))


@pytest.mark.parametrize("mode", [GrammarMode.ACCEPT, GrammarMode.JUMP, GrammarMode.NO_DRAFT])
@pytest.mark.parametrize("concurrency", [1, 5])
def test_the_engine_counts_the_rounds_of_its_outputs(mode: GrammarMode, concurrency: int) -> None:
    work = workload()
    acceptance = model(work, mode)
    replay = replayed(work, acceptance, concurrency)
    outputs = Outputs(work.labels, work.offsets, replay.keys, work.attempt_prompt_tokens)
    rounds = chain_rounds(acceptance.potential(outputs, GAMMA), work.offsets)
    counts, sums, found = spec_decode_counts(rounds, GAMMA), tally(rounds, outputs, N_SUBCLASSES), replay.by_step
    assert found.rounds.tolist() == np.diff(rounds.offsets).tolist()
    assert found.drafts.sum() == counts.num_drafts
    assert found.draft_tokens.sum() == counts.num_draft_tokens
    assert found.accepted_tokens.sum() == counts.num_accepted_tokens
    assert found.accepted_per_pos.tolist() == counts.num_accepted_tokens_per_pos.tolist()
    assert found.emitted_by_subclass.sum() == rounds.emitted.sum() == work.labels.size - work.n_attempts
    assert found.accepted_by_subclass.tolist() == sums.hit.tolist()
    assert found.round_share_by_subclass == pytest.approx(sums.share)
    assert found.decode_gpu_s.sum() == pytest.approx(found.decode_gpu_s_by_class.sum())


def test_what_a_step_costs_alone() -> None:
    """One sequence, no draft within its calls: their steps pay c_T (1 + o + delta gamma), all others d gamma too."""
    work = workload()
    acceptance = model(work, GrammarMode.NO_DRAFT)
    replay = replayed(work, acceptance, 1)
    outputs = Outputs(work.labels, work.offsets, replay.keys, work.attempt_prompt_tokens)
    rounds = chain_rounds(acceptance.potential(outputs, GAMMA), work.offsets)
    idle = rounds.drafted == 0
    assert 0 < idle.sum() < len(rounds)
    cost_s = COST.c_T_s * (1 + COST.overhead + COST.delta * GAMMA + COST.d * GAMMA * ~idle)
    assert replay.by_step.decode_gpu_s.sum() == pytest.approx(cost_s.sum())


def test_jumps_pay_their_width() -> None:
    work = workload()
    acceptance = model(work, GrammarMode.JUMP)
    replay = replayed(work, acceptance, 1)
    outputs = Outputs(work.labels, work.offsets, replay.keys, work.attempt_prompt_tokens)
    rounds = chain_rounds(acceptance.potential(outputs, GAMMA), work.offsets)
    assert rounds.undrafted is not None
    assert rounds.emitted.max() > GAMMA + 1
    plain = 1 + COST.overhead + (COST.delta + COST.d) * GAMMA
    assert replay.by_step.decode_gpu_s.sum() == pytest.approx(
        COST.c_T_s * (len(rounds) * plain + COST.delta * rounds.undrafted.sum())
    )


def test_a_cache_too_small_for_all_changes_no_token() -> None:
    work = workload()
    replay = replayed(work, model(work, GrammarMode.JUMP), 9, blocks=33)
    assert replay.num_preemptions.sum() > 0
    assert replay.done.all()
