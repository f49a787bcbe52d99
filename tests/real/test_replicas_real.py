"""A cluster under a recorded load: 12,031 requests over 64 replicas."""

from __future__ import annotations

import pytest

from scenarios.options.parameters import ParameterBook
from scenarios.options.read import ReadOptions
from scenarios.options.replay import CostOptions, LoadOptions, PlatformOptions
from scenarios.recordings.recording import load_workload, open_recording
from scenarios.resolve.load import resolve_load
from scenarios.resolve.platform import resolve_platform
from simulator.cluster import ClusterConfig
from simulator.metrics import conservation, hit_rates
from simulator.replay import ReplayConfig, run
from tests.shared import TRACES

MOONCAKE = TRACES / "mooncake" / "traces__conversation_trace.jsonl"


def test_sixty_four_replicas_find_more_of_the_prefixes_when_the_router_looks_for_them() -> None:
    book = ParameterBook()
    platform = resolve_platform(PlatformOptions(num_speculative_tokens=0), CostOptions(), book)
    read = ReadOptions()
    workload = load_workload(open_recording([str(MOONCAKE)], read), read, block_size=platform.engine.block_size)
    load = resolve_load(LoadOptions(), workload, book)
    hit = {}
    for router in ("round-robin", "prefix-aware"):
        config = ReplayConfig(
            engine=platform.engine,
            cost=platform.cost,
            acceptance=None,
            load=load,
            cluster=ClusterConfig(num_replicas=64, router=router),
        )
        replay = run(workload, config)
        counts = conservation(replay, workload)
        assert counts["requests_completed"] == counts["requests_injected"] == 12_031
        assert counts["attributed_s"] == pytest.approx(counts["busy_s"], rel=1e-9)
        hit[router] = hit_rates(replay)[0]
    assert hit["prefix-aware"] > 3 * hit["round-robin"]
