"""Speed and memory of the engine and of whole `simtool replay` processes, in one command; run by hand.

    python -m benchmarks.bench_engine [--quick] [--repeat 3] [--mooncake FILE] [--peer COMMAND]

Each case runs in processes of its own, the fastest of which counts. Times are CPU seconds of user code unless said
otherwise, so that other work on the machine disturbs little; ratios are of runs one after the other and mean the same
on any machine. *--mooncake* takes Mooncake's conversation trace, *--peer* the command of another simulator that
replays the same workload, *--quick* leaves out what takes over a minute.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from benchmarks.engine_cases import OUTPUT_TOKENS, PROMPT_TOKENS, RATE_PER_S

REQUESTS = 10_000
MANY_REQUESTS = (100_000, 1_000_000)
SCARCE_BLOCKS = 1500
"""KV blocks that are full nearly all the time at the same load, so that requests are preempted."""
REPLICAS = 64


class Ended(NamedTuple):
    """A process that has ended."""

    output: str
    user_s: float
    cpu_s: float
    """User and kernel CPU seconds."""
    peak_mb: float


def run_to_end(command: list[str]) -> Ended:
    """Run *command*. Raises SystemExit, with what it wrote to its error output, if it fails."""
    with tempfile.TemporaryFile("w+") as errors, tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, stdout=output, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        if process.returncode:
            raise SystemExit(f"{shlex.join(command)} failed:\n{errors.read()}")
        return Ended(output.read(), usage.ru_utime, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def fastest(command: list[str], repeat: int) -> Ended:
    """The run of *command* that took the least user time."""
    return min((run_to_end(command) for _ in range(repeat)), key=lambda ended: ended.user_s)


def engine(requests: int, gamma: int, *blocks: int, repeat: int) -> tuple[dict[str, float], float]:
    """Figures of engine_cases from the run with the fastest event loop, and its peak memory in MB."""
    command = [sys.executable, "-m", "benchmarks.engine_cases", *map(str, (requests, gamma, *blocks))]
    runs = [run_to_end(command) for _ in range(repeat)]
    figures = [(json.loads(ended.output), ended.peak_mb) for ended in runs]
    return min(figures, key=lambda pair: float(pair[0]["loop_s"]))


def print_engine(gamma: int, repeat: int) -> None:
    """Requests a second, unloaded and with the KV cache full."""
    free, _ = engine(REQUESTS, gamma, repeat=repeat)
    full, _ = engine(REQUESTS, gamma, SCARCE_BLOCKS, repeat=repeat)
    rates = [figures["requests"] / figures["loop_s"] for figures in (free, full)]
    print(
        f"engine, gamma {gamma}: {rates[0]:,.0f} requests/s in the event loop, "
        f"{REQUESTS / free['replay_s']:,.0f} in the whole replay; {free['steps']:,} steps"
    )
    print(
        f"  KV cache full ({full['kv_usage']:.0%} on average, {full['preemptions']:,} preemptions, "
        f"{full['steps']:,} steps): {rates[1]:,.0f} requests/s, {rates[1] / rates[0]:.2f} of the rate above"
    )


def print_linearity(gamma: int) -> None:
    """Time and memory of many requests."""
    few, many = (engine(count, gamma, repeat=1) for count in MANY_REQUESTS)
    for figures, peak_mb in (few, many):
        print(f"{figures['requests']:,} requests, gamma {gamma}: {figures['replay_s']:.1f} s, peak {peak_mb:,.0f} MB")
    growth = many[0]["replay_s"] / few[0]["replay_s"]
    print(f"  {MANY_REQUESTS[1] // MANY_REQUESTS[0]} times the requests take {growth:.2f} times as long")


def print_process(repeat: int, peer: str | None) -> None:
    """Whole processes: start, read, replay, answer."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder, "requests.csv")
        row = f",{PROMPT_TOKENS},{OUTPUT_TOKENS}\n"
        rows = "".join(f"{number / RATE_PER_S}{row}" for number in range(REQUESTS))
        trace.write_text(f"arrived_at,num_prefill_tokens,num_decode_tokens\n{rows}", encoding="utf-8")
        once = replay_command(str(trace), "--request-rate", f"{RATE_PER_S:g}", "--gamma", "0")
        both = replay_command(str(trace), "--request-rate", f"{RATE_PER_S:g}", "--gamma", "8")
        start = fastest([sys.executable, "-m", "simtool", "replay", "--help"], repeat)
        alone = fastest(once, repeat)
        print(
            f"process: {start.user_s:.2f} s to start, {alone.user_s:.2f} s to replay {REQUESTS:,} requests at gamma 0"
        )
        print(f"  {fastest(both, repeat).user_s:.2f} s at gamma 8 and without, with the verdict and the depth curve")
    if peer is None:
        print("  no peer given (--peer COMMAND): no ratio to another simulator")
    else:
        other = fastest(shlex.split(peer), repeat)
        print(f"  peer: {other.cpu_s:.2f} CPU s, {other.cpu_s / alone.cpu_s:.1f} times ours")


def print_mooncake(trace: str) -> None:
    """Many replicas with prefix-aware routing over a recorded trace with shared prefixes."""
    ended = run_to_end(replay_command(trace, "--replicas", str(REPLICAS), "--router", "prefix-aware"))
    print(f"{REPLICAS} replicas, prefix-aware, {Path(trace).name}: {ended.user_s:.1f} s, peak {ended.peak_mb:,.0f} MB")


def replay_command(trace: str, *options: str) -> list[str]:
    """The command that replays *trace* and prints its verdict."""
    return [sys.executable, "-m", "simtool", "replay", trace, "--quiet", "--no-progress", *options]


def main() -> None:
    """Run all cases."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--mooncake")
    parser.add_argument("--peer")
    args = parser.parse_args()
    for gamma in (0, 8):
        print_engine(gamma, args.repeat)
    print_process(args.repeat, args.peer)
    if args.mooncake:
        print_mooncake(args.mooncake)
    if not args.quick:
        for gamma in (0, 8):
            print_linearity(gamma)


if __name__ == "__main__":
    main()
