"""A finite recording as traffic of any length: its tasks over and over, in seeded order, under names of their own.

A task is a session that a user starts, with all sub-agents under it. Blocks that only one task has are new in each
copy, as another user's would be; blocks that several tasks have (a common system prompt) stay the same in all copies.
So the prefix cache finds as much of the traffic as it found of the recording.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from simulator import rng
from simulator.kvcache import BlockIds
from simulator.lazypaths import LazyPaths
from simulator.prefix import BlockPaths
from simulator.toolruns import ToolRuns
from simulator.workload import I32, I64, NO_PARENT, Workload


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tiles:
    """The tasks of a workload, ready to be repeated: what any number of tilings share."""

    workload: Workload
    sessions: tuple[I64, ...]
    """Of each task its sessions, in their order."""
    pool: I64
    """The tasks that are repeated."""
    attempts_per_task: float
    """Of those in the pool, mean."""
    paths: tuple[BlockIds, ...]
    """Of each attempt, its blocks renumbered: those of several tasks first, then those of one task, task by task."""
    num_shared: int
    """Blocks that several tasks have."""
    first_own: I64
    """Number of the first block of each task's own, and after the last; shape (tasks + 1,)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tiling:
    """Tasks set one after the other, and where each turn comes from."""

    workload: Workload
    tasks: I64
    """Number of the task at each place."""
    turn_place: I64
    """The place of each turn."""
    turn_source: I64
    """Number of each turn in the workload that was repeated."""
    attempt_source: I64
    """The same of each attempt."""


def tiles(workload: Workload, most_attempts: float = float("inf"), seed: int = 0) -> Tiles:
    """The tasks of *workload*; only some of them, drawn at random, where all have more than *most_attempts*.

    Raises ValueError for a workload without sessions, or whose draws a gate has planned.
    """
    if not workload.n_sessions:
        raise ValueError("a workload without sessions has no tasks to repeat")
    if workload.draws is not None:
        raise ValueError("repeat the recorded workload, then draw its turns again: not the other way round")
    task = _tasks(workload)
    order = np.argsort(task, kind="stable")
    bounds = np.searchsorted(task[order], np.arange(task.max() + 2))
    paths, num_shared, first_own = _renumbered(workload, task)
    sizes = np.bincount(task[workload.attempt_session], minlength=int(task.max()) + 1)
    pool = rng.generator(seed, "pool").permutation(sizes.size).astype(np.int64)
    pool = pool[: max(1, int((np.cumsum(sizes[pool]) <= most_attempts).sum()))]
    return Tiles(
        workload=workload,
        sessions=tuple(order[low:high] for low, high in pairwise(bounds.tolist())),
        pool=pool,
        attempts_per_task=float(sizes[pool].mean()),
        paths=paths,
        num_shared=num_shared,
        first_own=first_own,
    )


def in_passes(source: Tiles, count: int, seed: int) -> tuple[I64, I64]:
    """Tasks of the pool and which copy of it each is: all of them in an order drawn anew for each pass.

    Raises ValueError for a *count* below 1.
    """
    if count < 1:
        raise ValueError(f"{count} tasks are asked for; it must be at least 1")
    size = source.pool.size
    passes = [rng.generator(seed, "tasks", number).permutation(size) for number in range(-(-count // size))]
    return source.pool[np.concatenate(passes)[:count]], np.arange(count) // size


def tiled(source: Tiles, tasks: I64, copies: I64) -> Tiling:
    """The *tasks* of *source* one after the other, each with the number of its copy.

    Copy 0 keeps its names, so it keeps its random numbers too; others are named apart. Recorded start times are
    dropped, and so are token ids.
    """
    old = source.workload
    parts = [source.sessions[task] for task in tasks.tolist()]
    placement = np.repeat(np.arange(tasks.size), [part.size for part in parts])
    sessions = np.concatenate(parts)
    turns, session_turns = expand(sessions, old.session_turns)
    attempts, turn_attempts = expand(turns, old.turn_attempts)
    tokens, offsets = expand(attempts, old.offsets)
    turn_place = np.repeat(placement, np.diff(session_turns))
    where = _Where(old.n_turns, turns, turn_place)
    names = zip(sessions.tolist(), copies[placement].tolist(), strict=True)
    workload = replace(
        old,
        session_ids=[_named(old.session_ids[session], copy) for session, copy in names],
        session_start_s=np.full(sessions.size, np.nan),
        session_parent=where.moved(old.session_parent[sessions], placement),
        session_reward=old.session_reward[sessions],
        session_turns=session_turns,
        turn_ids=[old.turn_ids[turn] for turn in turns.tolist()],
        turn_parent=where.moved(old.turn_parent[turns], turn_place),
        turn_prompt_tokens=old.turn_prompt_tokens[turns],
        turn_tool_wait_s=old.turn_tool_wait_s[turns],
        turn_has_tools=old.turn_has_tools[turns],
        turn_user_wait_s=old.turn_user_wait_s[turns],
        turn_sent_s=np.full(turns.size, np.nan),
        turn_attempts=turn_attempts,
        attempt_rejected=old.attempt_rejected[attempts],
        labels=old.labels[tokens],
        offsets=offsets,
        paths=_paths(source, tasks, attempts, np.repeat(turn_place, np.diff(turn_attempts))),
        tokens=None,
        tool_runs=None if old.tool_runs is None else chosen_runs(old.tool_runs, turns),
    )
    return Tiling(workload=workload, tasks=tasks, turn_place=turn_place, turn_source=turns, attempt_source=attempts)


def _tasks(workload: Workload) -> I64:
    """The task of each session, numbered in the order of the sessions that users start."""
    spawner = workload.session_parent
    owner = np.where(spawner == NO_PARENT, np.arange(workload.n_sessions), workload.turn_session[spawner])
    while not np.array_equal(owner, owner[owner]):
        owner = owner[owner]
    return np.unique(owner, return_inverse=True)[1].astype(np.int64)


def _renumbered(workload: Workload, task: I64) -> tuple[tuple[BlockIds, ...], int, I64]:
    old = workload.paths
    owner = task[workload.attempt_session]
    first = np.full(old.num_identities, -1, dtype=np.int64)
    several = np.zeros(old.num_identities, dtype=np.bool_)
    for path, one in zip(old.paths, owner.tolist(), strict=True):
        several[path] |= (first[path] >= 0) & (first[path] != one)
        first[path] = one
    own = np.flatnonzero(~several & (first >= 0))
    own = own[np.argsort(first[own], kind="stable")]
    number = np.zeros(old.num_identities, dtype=np.int32)
    num_shared = int(np.count_nonzero(several))
    number[several] = np.arange(num_shared)
    number[own] = num_shared + np.arange(own.size)
    bounds = num_shared + np.searchsorted(first[own], np.arange(int(task.max()) + 2))
    return tuple(number[path] for path in old.paths), num_shared, bounds.astype(np.int64)


def _named(name: str, copy: int) -> str:
    return name if copy == 0 else f"{name}\x1f{copy}"


def expand(chosen: I64, bounds: I64) -> tuple[I64, I64]:
    """Members of the *chosen* groups, group g owning ``bounds[g]:bounds[g + 1]``, and the bounds among them."""
    sizes = (bounds[1:] - bounds[:-1])[chosen]
    ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return np.arange(int(ends[-1])) + np.repeat(bounds[chosen] - ends[:-1], sizes), ends


class _Where:
    """Where the turns of a workload stand in a tiling, placement by placement."""

    def __init__(self, n_turns: int, turns: I64, placement: I64) -> None:
        self._n_turns = n_turns
        keys = placement * n_turns + turns
        self._order = np.argsort(keys, kind="stable")
        self._keys = keys[self._order]

    def moved(self, parents: npt.NDArray[np.signedinteger], placement: I64) -> I32:
        """Numbers in the tiling of *parents*, each a turn of the same placement or NO_PARENT."""
        found = np.searchsorted(self._keys, placement * self._n_turns + np.maximum(parents, 0))
        moved = self._order[np.minimum(found, self._keys.size - 1)]
        return np.where(parents == NO_PARENT, NO_PARENT, moved).astype(np.int32)


def chosen_runs(old: ToolRuns, turns: I64) -> ToolRuns:
    """The tool runs after *turns*, in that order."""
    runs, offsets = expand(turns, old.offsets)
    return ToolRuns(old.names, old.tool[runs], old.duration_s[runs], offsets)


def _paths(source: Tiles, tasks: I64, attempts: I64, placement: I64) -> BlockPaths:
    owned = np.diff(source.first_own)[tasks]
    starts = source.num_shared + np.cumsum(owned) - owned
    shift = (starts - source.first_own[tasks])[placement]
    total = source.num_shared + int(owned.sum())
    if total > np.iinfo(np.int32).max:
        raise ValueError(f"{total} distinct KV blocks are more than can be numbered: simulate fewer tasks")
    return BlockPaths(_TiledPaths(source, attempts, shift), total)


class _TiledPaths(LazyPaths):
    """The paths of repeated attempts, each made when it is asked for."""

    def __init__(self, source: Tiles, attempts: I64, shift: I64) -> None:
        self._paths, self._num_shared = source.paths, source.num_shared
        self._attempts, self._shift = attempts, shift

    def __len__(self) -> int:
        return self._attempts.size

    def path(self, index: int) -> BlockIds:
        """The path of attempt *index*."""
        path = self._paths[int(self._attempts[index])]
        own = path >= self._num_shared
        return path + own.astype(np.int32) * np.int32(self._shift[index])
