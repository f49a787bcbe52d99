"""Which tasks a replay solved: what their users asked for, as the recording's own evaluation has it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simulator.replay import Replay
from simulator.workload import NO_PARENT, Workload
from traces.model import SOLVED

Bool = npt.NDArray[np.bool_]
I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Solved:
    """Counts of tasks."""

    with_outcome: int
    """Those whose outcome the recording has."""
    solved: int
    """Of every turn accepted (none given up, refused or abandoned), and recorded as solved where any outcome is."""


def task_of_session(workload: Workload) -> I64:
    """For each session the one that a user started and that led to it; itself if a user started it."""
    owner = np.where(
        workload.session_parent == NO_PARENT,
        np.arange(workload.n_sessions),
        workload.turn_session[np.maximum(workload.session_parent, 0)],
    )
    while True:
        further = owner[owner]
        if np.array_equal(further, owner):
            return owner
        owner = further


def accepted_turns(replay: Replay, workload: Workload) -> Bool:
    """For each turn whether one of its draws was accepted."""
    accepted: Bool = replay.done & ~workload.attempt_rejected
    if workload.n_turns == workload.n_attempts:
        return accepted
    return np.logical_or.reduceat(accepted, workload.turn_attempts[:-1])


def solved_tasks(replay: Replay, workload: Workload) -> Solved:
    """The tasks of *workload* that *replay* solved. Sub-agents belong to the task of the session that started them."""
    accepted = accepted_turns(replay, workload)
    passed = accepted if workload.draws is None else accepted & ~workload.draws.given_up
    if (workload.session_parent == NO_PARENT).all() and np.diff(workload.session_turns).all():
        through, reward = np.logical_and.reduceat(passed, workload.session_turns[:-1]), workload.session_reward
    else:
        task = task_of_session(workload)
        failures = np.bincount(task[workload.turn_session], ~passed, workload.n_sessions)
        tasks = np.unique(task[workload.turn_session])
        through, reward = failures[tasks] == 0, workload.session_reward[tasks]
    known = int(np.count_nonzero(~np.isnan(reward)))
    return Solved(known, int(np.count_nonzero(through & (reward >= SOLVED) if known else through)))
