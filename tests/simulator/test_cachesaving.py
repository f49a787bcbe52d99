"""What the prefix cache saved, against replays with and without it."""

from __future__ import annotations

import numpy as np
import pytest

from scenarios.ask import ask
from scenarios.options.settings import settings
from simulator.cachesaving import cache_saved_s
from simulator.replay import Replay
from tests.shared import AGENT_LOOP


def _replay(**given: object) -> Replay:
    chosen = settings({"max_concurrency": 1, "sub_agents": "join", **given})
    return ask([str(AGENT_LOOP)], chosen.read, chosen.replay).replay


@pytest.mark.parametrize(
    "options",
    [{"gamma": 0}, {"gamma": 4}, {"gamma": 0, "max_num_batched_tokens": 1024}],
    ids=["target", "with draft model", "chunked"],
)
def test_alone_it_is_the_prefill_without_cache_less_that_with_it(options: dict[str, object]) -> None:
    """One session at a time: no request shares a step, but for those of a sub-agent."""
    cached, plain = _replay(**options), _replay(**options, enable_prefix_caching=False)
    saved = cache_saved_s(cached)
    alone = [replay.prefill_gpu_s + replay.draft_prefill_gpu_s for replay in (plain, cached)]
    assert (cached.hit_tokens > 0).mean() > 0.9
    np.testing.assert_allclose(saved, alone[0] - alone[1], rtol=1e-6, atol=1e-9)
    assert not cache_saved_s(plain).any()


def test_grows_with_the_hits() -> None:
    replay = _replay(gamma=0)
    saved = cache_saved_s(replay)
    assert (saved[replay.hit_tokens == 0] == 0).all()
    assert (saved[replay.hit_tokens > 0] > 0).all()
    long = replay.hit_tokens > np.median(replay.hit_tokens)
    assert saved[long].mean() > saved[~long].mean()
