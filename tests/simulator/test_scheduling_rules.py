"""Single rules of a step, each in a case small enough to work out by hand."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from simulator.acceptance.base import AcceptanceModel, Outputs, Potential
from simulator.config import EngineConfig, SpeculativeMethod
from simulator.cost import DeclaredCost
from simulator.replay import Replay, ReplayConfig, run
from simulator.sessions import LoadConfig, SessionMode
from simulator.workload import Workload
from tests.simulator.cases import Coin, Session, Turn, build, single_turns


@dataclass(frozen=True)
class Drafts:
    """No draft is accepted; a round drafts *usual* tokens, or what *at* says for its first token's position."""

    usual: int
    at: dict[int, int] = field(default_factory=dict)

    def potential(self, outputs: Outputs, gamma: int) -> Potential:
        drafted = [min(gamma, self.at.get(position, self.usual)) for position in outputs.position.tolist()]
        return Potential(np.zeros(len(drafted), np.int16), np.array(drafted, np.int16))


def _replay(
    workload: Workload, model: AcceptanceModel | None, load: LoadConfig | None = None, **settings: object
) -> Replay:
    engine = EngineConfig(**{"block_size": 1, "num_gpu_blocks": 1000, "max_model_len": 100, **settings})  # type: ignore[arg-type]
    cost = DeclaredCost(c_T_s=1.0, prefill_s_per_token=0.01)
    load = load or LoadConfig(max_concurrency=8)
    return run(workload, ReplayConfig(engine=engine, cost=cost, acceptance=model, load=load))


def _speculative(gamma: int, method: SpeculativeMethod = SpeculativeMethod.MODEL_FREE) -> dict[str, object]:
    return {"num_speculative_tokens": gamma, "speculative_method": method}


def test_drafts_do_not_pass_max_model_len() -> None:
    """With L tokens of 16 in place a round verifies 16 - L tokens at most: 4, 3, 2, 1 and 0 drafts from L = 11 on."""
    replay = _replay(single_turns([10], [6]), Drafts(4), max_model_len=16, **_speculative(4))
    assert replay.by_step.rounds.tolist() == [5]
    assert replay.by_step.draft_tokens.tolist() == [4 + 3 + 2 + 1]
    assert replay.by_step.drafts.tolist() == [4]


def test_a_budget_that_later_rounds_exceed_cuts_them() -> None:
    """Of six tokens the first sequence takes five in the third round, the second is left its own token."""
    replay = _replay(
        single_turns([1, 1], [6, 6]), Drafts(0, at={3: 4}), max_num_seqs=2, max_num_batched_tokens=6, **_speculative(4)
    )
    assert replay.by_step.draft_tokens.tolist() == [4, 0]
    assert replay.by_step.rounds.tolist() == [5, 5]


def test_the_budget_goes_to_sequences_in_order_of_admission() -> None:
    """Of eight tokens the first takes five and the second three, though the first, in chunks, decodes later."""
    replay = _replay(
        single_turns([9, 1], [4, 6]),
        Drafts(4),
        max_num_seqs=2,
        max_num_batched_tokens=8,
        long_prefill_token_threshold=3,
        **_speculative(4),
    )
    assert replay.by_step.rounds.tolist() == [3, 5]
    assert replay.by_step.draft_tokens.tolist() == [3 * 4, 2 * 4 + 3 * 2]


def test_sequences_that_finish_together_are_followed_in_order_of_admission() -> None:
    """The session that came first, second in the workload, sends its next turn first; a step has room for one."""
    sessions = [
        Session(
            turns=(
                Turn(prompt=(start,), outputs=((9,) * tokens,), parent=None),
                Turn(prompt=(start + 10, 5), outputs=((9,),), parent=0),
            ),
            start_s=start_s,
        )
        for start, tokens, start_s in ((1, 5, 0.005), (0, 6, 0.0))
    ]
    load = LoadConfig(mode=SessionMode.RECORDED)
    replay = _replay(build(sessions, 1), None, load, max_num_batched_tokens=2, max_num_seqs=2)
    assert replay.finish_s[0] == replay.finish_s[2]
    assert replay.scheduled_s[3] < replay.scheduled_s[1]


def test_a_chunk_that_does_not_fit_whole_waits() -> None:
    """Without chunked prefill, a chunk of seven waits while four decoding sequences leave four tokens of forty."""
    replay = _replay(
        single_turns([1, 1, 1, 1, 30], [5, 5, 5, 5, 2]),
        Drafts(8),
        max_model_len=40,
        max_num_batched_tokens=40,
        max_num_seqs=5,
        enable_chunked_prefill=False,
        long_prefill_token_threshold=7,
        **_speculative(8),
    )
    assert replay.done.all()
    assert replay.first_token_s[4] > replay.finish_s[0]


def test_a_waiting_prompt_enters_when_a_smaller_budget_makes_its_chunk_fit() -> None:
    """Of three blocks one is free. A chunk of 20 tokens takes two; beside the round that drafts six it is one of 14."""
    replay = _replay(
        single_turns([17, 40], [8, 2], start_s=[0.0, 0.05]),
        Drafts(0, at={3: 6}),
        LoadConfig(mode=SessionMode.RECORDED),
        block_size=16,
        max_model_len=48,
        num_gpu_blocks=3,
        max_num_seqs=2,
        max_num_batched_tokens=21,
        **_speculative(6),
    )
    assert replay.scheduled_s[1] == pytest.approx(0.17 + 2)
    assert replay.done.all()


def test_preempting_the_only_sequence_in_a_step_does_not_stop_the_engine() -> None:
    """A sequence that the budget left out goes on when the one that was served is preempted."""
    replay = _replay(
        single_turns([12, 8, 25], [11, 10, 11]),
        Coin(0.3, varying=True),
        LoadConfig(max_concurrency=3),
        max_num_seqs=3,
        max_num_batched_tokens=9,
        max_model_len=37,
        num_gpu_blocks=44,
        long_prefill_token_threshold=3,
        **_speculative(8, SpeculativeMethod.DRAFT_MODEL),
    )
    assert replay.done.all()
