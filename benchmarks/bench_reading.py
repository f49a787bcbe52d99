"""Speed of the readers that need lengths only: megabytes of a recording a second of CPU time on one core.

Run by hand: python benchmarks/bench_reading.py [megabytes] [shape ...]
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from benchmarks.length_traces import SHAPES, write
from traces.readlog import ReadLog
from traces.registry import read_sessions

_REPEATS = 3
"""The fastest counts: others may load the machine."""


def read(path: Path, format_name: str) -> tuple[int, int, float]:
    """Sessions and turns of *path*, and the CPU seconds that reading them took."""
    started = time.process_time()
    sessions = turns = 0
    for session in read_sessions([str(path)], ReadLog(), format_name):
        sessions += 1
        turns += len(session.turns)
    return sessions, turns, time.process_time() - started


def main() -> None:
    """Print a line a shape."""
    megabytes = float(sys.argv[1]) if len(sys.argv) > 1 else 20.0
    print(f"{'shape':<20} {'lines':>9} {'sessions':>9} {'turns':>9} {'MB/s':>7} {'us/turn':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for shape in sys.argv[2:] or SHAPES:
            path = Path(folder) / "trace"
            lines = write(shape, path, megabytes)
            sessions, turns, seconds = min((read(path, SHAPES[shape][0]) for _ in range(_REPEATS)), key=lambda t: t[2])
            rate = path.stat().st_size / 1e6 / seconds
            print(f"{shape:<20} {lines:>9,} {sessions:>9,} {turns:>9,} {rate:>7.1f} {seconds / turns * 1e6:>8.1f}")


if __name__ == "__main__":
    main()
