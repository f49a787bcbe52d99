"""Recorded customer-service traffic, repeated: as much of it is shared as in the recording."""

from __future__ import annotations

import pytest

from scenarios.ask import question
from scenarios.decide import replay_once
from scenarios.options.settings import settings
from scenarios.recordings.loaded import load
from simulator.metrics import hit_rates
from simulator.sessions import LoadConfig
from simulator.tile import in_passes, tiled, tiles
from tests.shared import TRACES


def test_repeated_tau_bench_hits_the_prefix_cache_as_often() -> None:
    chosen = settings({"gamma": 0})
    asked = question(chosen.read, chosen.replay)
    recorded = load([str(TRACES / "tau-bench")], asked.reading).workload
    source = tiles(recorded)
    again = tiled(source, *in_passes(source, 3 * source.pool.size, 0)).workload
    platform, one = asked.platform, LoadConfig(max_concurrency=1)
    rates = [
        hit_rates(replay_once(workload, platform.engine, platform, None, one, 0))[0]  # type: ignore[arg-type]
        for workload in (recorded, again)
    ]
    assert rates[1] == pytest.approx(rates[0], abs=0.01)
