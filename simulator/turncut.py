"""A workload without some of its turns: sessions that are under way when a replay begins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from simulator.lazypaths import ChosenPaths
from simulator.prefix import BlockPaths
from simulator.tile import chosen_runs, expand
from simulator.workload import I32, I64, NO_PARENT, Workload

Bool = npt.NDArray[np.bool_]


def with_turns(workload: Workload, keep: Bool) -> tuple[Workload, I64]:
    """*workload* with the turns that *keep* marks, and the old numbers of the sessions that have any left.

    A turn whose parent is gone waits for its session's start; a sub-agent whose spawner is gone is a session of its
    own. Token ids are dropped.
    """
    turns = np.flatnonzero(keep)
    number = np.where(keep, np.cumsum(keep) - 1, NO_PARENT)
    counts = np.bincount(workload.turn_session[turns], minlength=workload.n_sessions)
    sessions = np.flatnonzero(counts)
    attempts, turn_attempts = expand(turns, workload.turn_attempts)
    tokens, offsets = expand(attempts, workload.offsets)
    draws = workload.draws
    cut = replace(
        workload,
        session_ids=[workload.session_ids[session] for session in sessions.tolist()],
        session_start_s=workload.session_start_s[sessions],
        session_parent=_moved(workload.session_parent[sessions], number),
        session_reward=workload.session_reward[sessions],
        session_turns=np.concatenate([[0], np.cumsum(counts[sessions])]).astype(np.int64),
        turn_ids=[workload.turn_ids[turn] for turn in turns.tolist()],
        turn_parent=_moved(workload.turn_parent[turns], number),
        turn_prompt_tokens=workload.turn_prompt_tokens[turns],
        turn_tool_wait_s=workload.turn_tool_wait_s[turns],
        turn_has_tools=workload.turn_has_tools[turns],
        turn_user_wait_s=workload.turn_user_wait_s[turns],
        turn_sent_s=workload.turn_sent_s[turns],
        turn_attempts=turn_attempts,
        attempt_rejected=workload.attempt_rejected[attempts],
        labels=workload.labels[tokens],
        offsets=offsets,
        paths=BlockPaths(ChosenPaths(workload.paths.paths, attempts), workload.paths.num_identities),
        tokens=None,
        tool_runs=None if workload.tool_runs is None else chosen_runs(workload.tool_runs, turns),
        draws=None
        if draws is None
        else replace(draws, extra_prompt_tokens=draws.extra_prompt_tokens[attempts], given_up=draws.given_up[turns]),
    )
    return cut, sessions


def _moved(parents: I32, number: I64) -> I32:
    return np.where(parents == NO_PARENT, NO_PARENT, number[np.maximum(parents, 0)]).astype(np.int32)
