"""The net saving of the depth curve counts all that C_total counts."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from scenarios.law.curve import net_saving
from simulator.config import EngineConfig
from simulator.cost import DeclaredCost
from simulator.metrics import attributed_s
from simulator.replay import ReplayConfig, run
from tests.simulator.cases import single_turns


def test_loading_from_host_memory_is_part_of_the_cost_that_a_saving_is_a_share_of() -> None:
    cost = DeclaredCost(c_T_s=0.02, prefill_s_per_token=1e-3)
    config = ReplayConfig(engine=EngineConfig(max_model_len=4000), cost=cost, acceptance=None)
    workload = single_turns([100, 40], [9, 21])
    plain = run(workload, config)
    replay = dataclasses.replace(plain, kv_load_s=np.array([0.3, 0.1]))
    decode_s, total_s = replay.by_step.decode_gpu_s.sum(), attributed_s(replay).sum()
    assert net_saving(workload, replay, replay, 1.0, 1.0) == pytest.approx(0)
    assert net_saving(workload, replay, replay, 0.25, 1.0) == pytest.approx(0.75 * decode_s / total_s)
