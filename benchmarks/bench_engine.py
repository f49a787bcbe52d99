"""Speed of the engine on synthetic requests of fixed lengths with random arrivals; run by hand.

    python benchmarks/bench_engine.py [--requests 10000] [--rate 8] [--gamma 0 8] [--prompt 512] [--output 128]

Prints, per gamma, simulated requests per CPU second of the event loop alone, of the whole replay, and of the process.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
import simpy

from scenarios.options import CostOptions, PlatformOptions
from scenarios.parameters import ParameterBook
from scenarios.platform import resolve_platform
from simulator.acceptance.table import from_acceptance_length
from simulator.kvcache import NO_BLOCKS
from simulator.prefix import BlockPaths
from simulator.replay import Replay, ReplayConfig, run
from simulator.sessions import LoadConfig, SessionMode
from simulator.workload import NO_PARENT, Workload


def fixed_requests(count: int, prompt_tokens: int, output_tokens: int) -> Workload:
    """*count* independent requests of equal lengths that share no prefix."""
    unknown = np.full(count, np.nan)
    return Workload(
        session_ids=tuple(map(str, range(count))),
        session_start_s=unknown,
        session_parent=np.full(count, NO_PARENT, dtype=np.int32),
        session_turns=np.arange(count + 1),
        turn_ids=("1",) * count,
        turn_parent=np.full(count, NO_PARENT, dtype=np.int32),
        turn_prompt_tokens=np.full(count, prompt_tokens),
        turn_tool_wait_s=unknown,
        turn_has_tools=np.zeros(count, dtype=np.bool_),
        turn_user_wait_s=unknown,
        turn_sent_s=unknown,
        turn_attempts=np.arange(count + 1),
        attempt_rejected=np.zeros(count, dtype=np.bool_),
        labels=np.zeros(count * output_tokens, dtype=np.uint8),
        offsets=np.arange(count + 1) * output_tokens,
        paths=BlockPaths([NO_BLOCKS] * count, 0),
    )


def replay(workload: Workload, gamma: int, rate: float) -> tuple[Replay, float, float]:
    """Replay on the default platform; CPU seconds of the whole replay and of its event loop."""
    platform = resolve_platform(PlatformOptions(num_speculative_tokens=gamma), CostOptions(), ParameterBook())
    loop_s = 0.0
    plain_run = simpy.Environment.run

    def timed_run(env: simpy.Environment) -> None:
        nonlocal loop_s
        started = time.process_time()
        plain_run(env)
        loop_s = time.process_time() - started

    simpy.Environment.run = timed_run  # type: ignore[method-assign, assignment]
    try:
        started = time.process_time()
        load = LoadConfig(mode=SessionMode.RATE, request_rate_per_s=rate)
        model = from_acceptance_length(3.6, gamma) if gamma else None
        result = run(workload, ReplayConfig(engine=platform.engine, cost=platform.cost, acceptance=model, load=load))
        return result, time.process_time() - started, loop_s
    finally:
        simpy.Environment.run = plain_run  # type: ignore[method-assign]


def main() -> None:
    """Run the benchmark for each gamma."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--rate", type=float, default=8.0)
    parser.add_argument("--gamma", type=int, nargs="*", default=[0, 8])
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--output", type=int, default=128)
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    workload = fixed_requests(args.requests, args.prompt, args.output)
    for gamma in args.gamma:
        runs = [replay(workload, gamma, args.rate) for _ in range(args.repeat)]
        result = runs[0][0]
        loop_s, total_s = min(run[2] for run in runs), min(run[1] for run in runs)
        print(
            f"gamma {gamma}: {args.requests / loop_s:,.0f} requests/s in the event loop, "
            f"{args.requests / total_s:,.0f} in the whole replay; {result.n_steps:,} steps, "
            f"utilisation {result.busy_s / result.duration_s:.2f}, {int(result.num_preemptions.sum()):,} preemptions"
        )
    peak_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"process: {time.process_time():.2f} CPU seconds in all, peak memory {peak_kb / 1024:.0f} MB")


if __name__ == "__main__":
    main()
