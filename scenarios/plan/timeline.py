"""When the turns of a task are sent on an idle replica: what is over of a task that came some time ago."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulator.metrics import session_latencies
from simulator.replay import Replay
from simulator.tile import Tiling
from simulator.window import Window
from simulator.workload import F64, NO_PARENT

SPAN_PERCENTILE = 95.0
"""Of the times on an idle replica that warm-up and drain are made of."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Timeline:
    """Seconds from the start of a task, for those that were replayed; 0 for others."""

    turn_s: F64
    """When each recorded turn is sent."""
    task_s: F64
    """When the last output of each task ends."""
    session_s: float
    """A high percentile (SPAN_PERCENTILE) of the times of users' sessions."""
    engine_s: float
    """The same of the time that a session spends in the engine, tools apart."""
    gap_s: float
    """The same of the time from one request of a session to the next."""
    request_s: float
    """The same of the time of a request."""


def second_half(replay: Replay, tiling: Tiling) -> Window:
    """What belongs to the second half of the tasks, of tasks that come one after the other: the cache is warm."""
    workload = tiling.workload
    late = (tiling.turn_place >= tiling.tasks.size // 2)[workload.attempt_turn]
    sessions = (workload.session_parent == NO_PARENT) & (
        np.bincount(workload.attempt_session, late, workload.n_sessions) > 0
    )
    arrived = replay.arrival_s[late]
    return Window(attempts=late, sessions=sessions, duration_s=float(np.nanmax(replay.finish_s) - arrived.min()))


def timeline(replay: Replay, tiling: Tiling, n_turns: int, n_tasks: int) -> Timeline:
    """The times of the second half of the tasks, which stand there once each."""
    workload, half = tiling.workload, second_half(replay, tiling)
    place = tiling.turn_place[workload.attempt_turn]
    begin_s = np.full(tiling.tasks.size, np.inf)
    np.minimum.at(begin_s, place, replay.arrival_s)
    end_s = np.zeros(tiling.tasks.size)
    np.maximum.at(end_s, place, np.nan_to_num(replay.finish_s))
    first = workload.turn_attempts[:-1]
    late = half.attempts[first]
    turn_s, task_s = np.zeros(n_turns), np.zeros(n_tasks)
    turn_s[tiling.turn_source[late]] = (replay.arrival_s[first] - begin_s[tiling.turn_place])[late]
    places = np.arange(tiling.tasks.size // 2, tiling.tasks.size)
    task_s[tiling.tasks[places]] = (end_s - begin_s)[places]
    request_s = np.nan_to_num(replay.finish_s - replay.arrival_s)
    owner = workload.attempt_session
    engine_s = np.bincount(owner, request_s, workload.n_sessions).astype(np.float64)
    order = np.lexsort((replay.arrival_s, owner))
    following = (np.diff(owner[order]) == 0) & half.attempts[order][1:]
    gaps_s = replay.arrival_s[order][1:] - replay.arrival_s[order][:-1]
    return Timeline(
        turn_s=turn_s,
        task_s=task_s,
        session_s=_high(session_latencies(replay)[half.sessions]),
        engine_s=_high(engine_s[half.sessions]),
        gap_s=_high(gaps_s[following]),
        request_s=_high(request_s[half.attempts]),
    )


def _high(values: F64) -> float:
    return float(np.percentile(values, SPAN_PERCENTILE)) if values.size else 0.0
