"""Peak memory of reading a made-up trace of lengths into columns, and of whole commands on it.

Run by hand: python -m benchmarks.bench_memory [megabytes] [shape] [command ...]

Each step is a process of its own: "columns" reads, tags and finds shared prefixes; any other is a command of simtool.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.length_traces import SHAPES, write

_COLUMNS = """
import sys
from scenarios.recordings.recording import load_workload, open_recording
from scenarios.options.read import ReadOptions
options = ReadOptions(format_name=sys.argv[2])
load_workload(open_recording([sys.argv[1]], options), options, block_size=16)
"""
_COMMAND = "from simtool.main import main; main()"


def step(name: str, path: Path, format_name: str) -> tuple[float, float, float]:
    """Peak memory in MB, CPU seconds and seconds of a step on the trace at *path*."""
    if name == "columns":
        arguments = [_COLUMNS, str(path), format_name]
    else:
        arguments = [_COMMAND, name, str(path), "--format", format_name]
    started = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", *arguments], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{name}: status {os.waitstatus_to_exitcode(status)}")
    return usage.ru_maxrss / 1e3, usage.ru_utime + usage.ru_stime, time.perf_counter() - started


def main() -> None:
    """Print a line a step."""
    megabytes = float(sys.argv[1]) if len(sys.argv) > 1 else 100.0
    shape = sys.argv[2] if len(sys.argv) > 2 else "mooncake"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace"
        lines = write(shape, path, megabytes)
        print(f"{shape}: {path.stat().st_size / 1e6:,.0f} MB, {lines:,} lines")
        for name in sys.argv[3:] or ("columns", "replay"):
            peak_mb, cpu_s, wall_s = step(name, path, SHAPES[shape][0])
            print(f"{name:<10} peak {peak_mb:>8,.0f} MB {cpu_s:>8.1f} s of CPU time {wall_s:>8.1f} s", flush=True)


if __name__ == "__main__":
    main()
