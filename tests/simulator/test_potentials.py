"""Potentials of rounds that are kept, so that moved rounds are not drawn again."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.acceptance.base import Beside, Outputs, Potential
from simulator.config import EngineConfig, SpeculativeMethod
from simulator.cost import DeclaredCost
from simulator.potentials import PotentialStore
from simulator.replay import ReplayConfig, run
from simulator.sessions import LoadConfig
from tests.simulator.cases import Coin, single_turns


@given(st.data(), st.sampled_from([1, 8, 255, 256, 1024]))
def test_what_is_kept_is_what_was_drawn(data: st.DataObject, gamma: int) -> None:
    depth = st.integers(0, gamma)
    rows = st.lists(st.tuples(depth, depth), max_size=20)
    blocks = [np.array(data.draw(rows), np.int16).reshape(-1, 2).T for _ in range(3)]
    store = PotentialStore(gamma)
    for accepted, drafted in blocks:
        store.append(Potential(accepted, drafted))
    accepted, drafted = np.concatenate(blocks, axis=1)
    first, end = sorted(data.draw(st.tuples(*[st.integers(0, accepted.size)] * 2)))
    found = store.of(first, end)
    assert found is not None
    assert found.accepted.tolist() == accepted[first:end].tolist()
    assert found.drafted.tolist() == drafted[first:end].tolist()
    assert found.accepted.dtype == found.drafted.dtype == np.int16


@pytest.mark.parametrize("name", ["idle", "jump"])
def test_rounds_with_tokens_beside_their_drafts_are_drawn_again(name: str) -> None:
    store = PotentialStore(4)
    one = np.ones(2, np.int16)
    store.append(Potential(one, one))
    store.append(Potential(one, one, Beside(**{name: one})))
    assert store.of(0, 2) is None


@dataclass(frozen=True)
class _Counted:
    """A model that notes how many tokens it was asked about."""

    model: Coin
    asked: list[int] = field(default_factory=list)

    def potential(self, outputs: Outputs, gamma: int) -> Potential:
        self.asked.append(len(outputs.labels))
        return self.model.potential(outputs, gamma)


def test_each_token_is_drawn_once_whatever_is_preempted_or_cut() -> None:
    """Blocks for half of what is asked for, and a budget that cuts drafts."""
    workload = single_turns([8] * 6, [40] * 6)
    model = _Counted(Coin(0.7))
    config = EngineConfig(
        block_size=4,
        num_gpu_blocks=24,
        max_model_len=90,
        max_num_seqs=6,
        max_num_batched_tokens=16,
        num_speculative_tokens=4,
        speculative_method=SpeculativeMethod.MODEL_FREE,
    )
    load = LoadConfig(max_concurrency=6)
    replay = run(workload, ReplayConfig(engine=config, cost=DeclaredCost(c_T_s=1.0), acceptance=model, load=load))
    assert replay.num_preemptions.sum() > 0
    assert sum(model.asked) == workload.labels.size
