"""Replays whose speed is measured: requests of fixed lengths on the default platform, with KV blocks as asked.

    python -m benchmarks.engine_cases REQUESTS GAMMA [NUM_GPU_BLOCKS]

Prints one line of JSON; times are CPU seconds of user code, not of the kernel.
"""

from __future__ import annotations

import dataclasses
import json
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import simpy

from scenarios.options.parameters import ParameterBook
from scenarios.options.replay import CostOptions, PlatformOptions
from scenarios.resolve.platform import resolve_platform
from simulator.acceptance.table import from_acceptance_length
from simulator.kvcache import NO_BLOCKS
from simulator.prefix import BlockPaths
from simulator.replay import ReplayConfig, run
from simulator.replicalog import time_weighted
from simulator.sessions import LoadConfig, SessionMode
from simulator.workload import NO_PARENT, Workload

PROMPT_TOKENS = 512
OUTPUT_TOKENS = 128
RATE_PER_S = 8.0
ACCEPTANCE_LENGTH = 3.6


def fixed_requests(count: int) -> Workload:
    """*count* independent requests of equal lengths that share no prefix, each with four spans of labels."""
    unknown = np.full(count, np.nan)
    spans = np.repeat(np.array([0, 4, 6, 7], dtype=np.uint8), OUTPUT_TOKENS // 4)
    return Workload(
        session_ids=tuple(map(str, range(count))),
        session_start_s=unknown,
        session_parent=np.full(count, NO_PARENT, dtype=np.int32),
        session_reward=unknown,
        session_turns=np.arange(count + 1),
        turn_ids=("1",) * count,
        turn_parent=np.full(count, NO_PARENT, dtype=np.int32),
        turn_prompt_tokens=np.full(count, PROMPT_TOKENS),
        turn_tool_wait_s=unknown,
        turn_has_tools=np.zeros(count, dtype=np.bool_),
        turn_user_wait_s=unknown,
        turn_sent_s=unknown,
        turn_attempts=np.arange(count + 1),
        attempt_rejected=np.zeros(count, dtype=np.bool_),
        labels=np.tile(spans, count),
        offsets=np.arange(count + 1) * OUTPUT_TOKENS,
        paths=BlockPaths([NO_BLOCKS] * count, 0),
    )


def measure(requests: int, gamma: int, num_gpu_blocks: int | None = None) -> dict[str, float]:
    """Replay *requests* fixed requests that arrive at random; how long it took, and what it came to."""
    platform = resolve_platform(PlatformOptions(num_speculative_tokens=gamma), CostOptions(), ParameterBook())
    engine = platform.engine
    if num_gpu_blocks is not None:
        engine = dataclasses.replace(engine, num_gpu_blocks=num_gpu_blocks, max_model_len=4096)
    workload = fixed_requests(requests)
    config = ReplayConfig(
        engine=engine,
        cost=platform.cost,
        acceptance=from_acceptance_length(ACCEPTANCE_LENGTH, gamma) if gamma else None,
        load=LoadConfig(mode=SessionMode.RATE, request_rate_per_s=RATE_PER_S),
    )
    with _timed_loop() as loop_s:
        started_s = _user_s()
        result = run(workload, config)
        replay_s = _user_s() - started_s
    return {
        "requests": requests,
        "loop_s": loop_s[0],
        "replay_s": replay_s,
        "steps": result.n_steps,
        "preemptions": int(result.num_preemptions.sum()),
        "kv_usage": time_weighted(result.load, "used_blocks") / engine.num_gpu_blocks,
        "utilization": result.busy_s / result.duration_s,
    }


@contextmanager
def _timed_loop() -> Iterator[list[float]]:
    """Seconds that the event loop runs, in a list that gets them."""
    plain, found = simpy.Environment.run, []

    def timed(env: simpy.Environment) -> None:
        started_s = _user_s()
        plain(env)
        found.append(_user_s() - started_s)

    simpy.Environment.run = timed  # type: ignore[method-assign, assignment]
    try:
        yield found
    finally:
        simpy.Environment.run = plain  # type: ignore[method-assign]


def _user_s() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


if __name__ == "__main__":
    print(json.dumps(measure(*map(int, sys.argv[1:]))))
