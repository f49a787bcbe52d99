"""Where the time of a session goes: decode, prefill, queue, and tools (or people) in between."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from simulator.longcolumns import let_go_all, parts_of
from simulator.metrics import session_latencies
from simulator.replay import Replay
from simulator.workload import Workload

F64 = npt.NDArray[np.float64]

_ROWS = 1 << 16
"""Intervals that are looked at together."""


def session_times(replay: Replay, workload: Workload) -> dict[str, F64]:
    """Seconds of each session by what it does: decode_s, prefill_s, queue_s, tool_wait_s; they add up to its latency.

    While several requests of a session are under way, the moment counts for the furthest: decode before prefill
    before queue. What no request covers is tool wait. A sub-agent is a session of its own.
    """
    bounds = workload.turn_attempts[workload.session_turns]
    covered = np.zeros((3, workload.n_sessions))
    for part in parts_of(bounds[:-1]):
        attempts = slice(bounds[part.start], bounds[part.stop])
        session = np.arange(part.stop - part.start).repeat(np.diff(bounds[part.start : part.stop + 1]))
        ran = replay.done[attempts]
        ends = replay.finish_s[attempts][ran]
        for row, starts in zip(covered, (replay.first_token_s, replay.scheduled_s, replay.arrival_s), strict=True):
            row[part] = covered_s(session[ran], starts[attempts][ran], ends, part.stop - part.start)
        let_go_all()
    total = session_latencies(replay)
    decode, prefilled, present = covered
    return {
        "decode_s": decode,
        "prefill_s": prefilled - decode,
        "queue_s": present - prefilled,
        "tool_wait_s": np.maximum(total - present, 0.0),
    }


def covered_s(owner: npt.NDArray[np.int64], starts: F64, ends: F64, count: int) -> F64:
    """Length of the union of each owner's intervals from *starts* to *ends*, shape (count,)."""
    total = np.zeros(count)
    order = np.lexsort((starts, owner))
    reach, last = 0.0, -1
    for who, start, end in _rows(owner, starts, ends, order):
        if who != last:
            reach, last = start, who
        total[who] += max(0.0, end - max(start, reach))
        reach = max(reach, end)
    return total


def _rows(
    owner: npt.NDArray[np.int64], starts: F64, ends: F64, order: npt.NDArray[np.int64]
) -> Iterator[tuple[int, float, float]]:
    """Owner, start and end of each interval in *order*."""
    for first in range(0, order.size, _ROWS):
        part = order[first : first + _ROWS]
        yield from zip(owner[part].tolist(), starts[part].tolist(), ends[part].tolist(), strict=True)
