"""The host tier against a plain LRU dictionary, and what it is worth to a replay."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.cluster import ClusterConfig
from simulator.config import EngineConfig
from simulator.cost import DeclaredCost
from simulator.hosttier import HostTier
from simulator.metrics import conservation
from simulator.replay import Replay, ReplayConfig, run
from simulator.sessions import LoadConfig
from tests.simulator.cases import Session, Turn, build

IDENTITIES = 12
BLOCK = 4

operations = st.lists(
    st.tuples(
        st.sampled_from(["put", "load"]),
        st.lists(st.integers(0, IDENTITIES - 1), min_size=1, max_size=5, unique=True),
    ),
    max_size=30,
)


@settings(max_examples=300, deadline=None)
@given(st.integers(1, 8), operations)
def test_the_tier_is_a_least_recently_used_cache(room: int, steps: list[tuple[str, list[int]]]) -> None:
    tier = HostTier(room, IDENTITIES, 0.5)
    twin: OrderedDict[int, None] = OrderedDict()
    for name, ids in steps:
        array = np.array(ids, np.int32)
        if name == "put":
            tier.put(array)
            for number in ids:
                twin[number] = None
                twin.move_to_end(number)
        else:
            assert tier.load(array) == 0.5 * len(ids)
            for number in ids:
                if number in twin:
                    twin.move_to_end(number)
        while len(twin) > room:
            twin.popitem(last=False)
        held = [number for number in range(IDENTITIES) if tier.leading(np.array([number], np.int32))]
        assert held == sorted(twin)
        assert tier.num_held == len(twin) <= room


def test_a_tier_needs_room() -> None:
    with pytest.raises(ValueError, match="at least one"):
        HostTier(0, 1, 0.0)


PREFILL_S = 0.25
LOAD_S = 0.125


def _alternating(host_blocks: int, blocks: int = 9) -> Replay:
    """Two prompts of eight blocks in turn, three times each, on a GPU with room for one of them."""
    prompts = [tuple(range(100 * k, 100 * k + 8 * BLOCK)) for k in range(2)]
    turns = tuple(
        Turn(prompt=(*prompts[i % 2], 1000 + i), outputs=((9, 9),), parent=i - 1 if i else None) for i in range(6)
    )
    engine = EngineConfig(
        max_model_len=9 * BLOCK, num_gpu_blocks=blocks, block_size=BLOCK, max_num_batched_tokens=64, max_num_seqs=1
    )
    config = ReplayConfig(
        engine=engine,
        cost=DeclaredCost(c_T_s=1.0, prefill_s_per_token=PREFILL_S),
        acceptance=None,
        load=LoadConfig(max_concurrency=1),
        cluster=ClusterConfig(host_blocks=host_blocks, host_load_s_per_block=LOAD_S),
    )
    work = build([Session(turns=turns)], BLOCK)
    replay = run(work, config)
    counts = conservation(replay, work)
    assert counts["attributed_s"] == pytest.approx(counts["busy_s"], rel=1e-12)
    return replay


def test_without_a_host_the_prompts_push_each_other_out() -> None:
    replay = _alternating(0)
    assert not replay.hit_tokens.any()
    assert not replay.kv_load_s.any()


def test_evicted_blocks_come_back_from_the_host_for_the_time_of_loading() -> None:
    replay = _alternating(100)
    np.testing.assert_array_equal(replay.hit_tokens, [0, 0, *[8 * BLOCK] * 4])
    np.testing.assert_array_equal(replay.host_hit_tokens[2:], [8 * BLOCK] * 4)
    np.testing.assert_allclose(replay.kv_load_s, [0, 0, *[8 * LOAD_S] * 4])
    full_s, rest_s = (8 * BLOCK + 1) * PREFILL_S, PREFILL_S
    np.testing.assert_allclose(replay.first_token_s - replay.arrival_s, [full_s, full_s, *[8 * LOAD_S + rest_s] * 4])


def test_a_small_host_keeps_the_head_which_is_evicted_last() -> None:
    replay = _alternating(4)
    assert (replay.host_hit_tokens[2:] <= 4 * BLOCK).all()
    assert replay.host_hit_tokens.any()


def test_blocks_on_the_gpu_are_not_loaded() -> None:
    replay = _alternating(100, blocks=40)
    assert replay.hit_tokens[2:].all()
    assert not replay.host_hit_tokens.any()
