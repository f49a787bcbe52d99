"""Steady traffic from a recording: tasks arrive at random, and those that came before are under way already."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from scenarios.acceptance.grammar import source_attempts
from scenarios.options.parameters import ParameterBook
from scenarios.options.replay import ReplayOptions
from scenarios.plan.span import Span
from scenarios.plan.timeline import Timeline
from scenarios.resolve.draws import drawn_workload
from simulator import rng
from simulator.replay import Replay
from simulator.tile import Tiles, Tiling, in_passes, tiled, tiles
from simulator.turncut import with_turns
from simulator.window import Window
from simulator.workload import F64, I64, NO_PARENT, Workload

_KEPT = 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Steady:
    """A workload whose sessions have start times, some of them under way at time 0."""

    workload: Workload
    source: I64
    """The recorded attempt that each attempt repeats."""
    fresh: npt.NDArray[np.bool_]
    """Per session, whether a user starts it after time 0."""
    tasks: int
    """Tasks that arrive."""
    begin_s: float
    """When the measured time begins, on the replay's clock: that is 0 when the first session starts."""


@dataclass(slots=True, kw_only=True)
class Traffic:
    """Makes the workloads of a plan; a few are kept, as the next question mostly has the same."""

    tiles: Tiles
    options: ReplayOptions
    _made: OrderedDict[tuple[float, Span], Steady] = field(default_factory=OrderedDict)

    @classmethod
    def of(cls, workload: Workload, options: ReplayOptions, max_requests: int) -> Traffic:
        """The traffic of a recorded *workload*, its turns drawn as *options* say.

        Of tasks with more than half of *max_requests* requests some are drawn.
        """
        return cls(tiles=tiles(workload, max_requests / 2, options.seed), options=options)

    @property
    def n_tasks(self) -> int:
        """Tasks that are repeated."""
        return self.tiles.pool.size

    def twice(self) -> Tiling:
        """All tasks, and all of them again."""
        return self._drawn(tiled(self.tiles, *in_passes(self.tiles, 2 * self.n_tasks, self.options.seed)))

    def _drawn(self, tiling: Tiling) -> Tiling:
        """*tiling* with its turns drawn as the options say."""
        whole = drawn_workload(tiling.workload, self.options, ParameterBook())
        source = tiling.attempt_source[source_attempts(tiling.workload, whole)]
        return replace(tiling, workload=whole, attempt_source=source)

    def steady(self, tasks_per_s: float, span: Span, timeline: Timeline) -> Steady:
        """Arrivals at *tasks_per_s* for all of *span*, after arrivals for as long as any task lasts.

        Of tasks that arrived before time 0 the turns are left out that *timeline* puts before it.
        """
        found = self._made.pop((tasks_per_s, span), None)
        if found is None:
            found = self._steady(tasks_per_s, span, timeline)
        self._made[tasks_per_s, span] = found
        if len(self._made) > _KEPT:
            self._made.popitem(last=False)
        return found

    def _steady(self, tasks_per_s: float, span: Span, timeline: Timeline) -> Steady:
        before_s = float(timeline.task_s[self.tiles.pool].max())
        count = max(1, int(np.ceil((before_s + span.total_s) * tasks_per_s)))
        starts = self._arrivals(count, tasks_per_s) - before_s
        tasks, copies = in_passes(self.tiles, count, self.options.seed)
        kept = (-starts < timeline.task_s[tasks]) & (starts < span.total_s)
        if not kept.any():
            kept[-1] = True
        starts = starts[kept]
        tiling = self._drawn(tiled(self.tiles, tasks[kept], copies[kept]))
        whole = tiling.workload
        sent = starts[tiling.turn_place] + timeline.turn_s[tiling.turn_source]
        fresh = starts[tiling.turn_place] >= 0
        left = fresh | (sent >= 0)
        workload, sessions = with_turns(whole, left)
        first = whole.session_turns[sessions]
        users = (whole.session_parent[sessions] == NO_PARENT) & fresh[first]
        earliest = np.minimum.reduceat(np.where(left, sent, np.inf), whole.session_turns[:-1])
        begins = np.where(users, starts[tiling.turn_place[first]], earliest[sessions])
        begins = np.maximum(begins, 0.0)
        return Steady(
            workload=replace(workload, session_start_s=begins),
            source=tiling.attempt_source[left[whole.attempt_turn]],
            fresh=users,
            tasks=int(np.count_nonzero(starts >= 0)),
            begin_s=span.warmup_s - float(begins[workload.session_parent == NO_PARENT].min()),
        )

    def _arrivals(self, count: int, tasks_per_s: float) -> F64:
        shape = self.options.load.burstiness
        drawn = rng.generator(self.options.seed, "arrivals").gamma(shape, 1 / (tasks_per_s * shape), count)
        return np.cumsum(drawn)


def steady_part(replay: Replay, steady: Steady, span: Span) -> Window:
    """Requests, and tasks, that arrive in the measured time."""

    def within(times: F64) -> npt.NDArray[np.bool_]:
        return (times >= steady.begin_s) & (times < steady.begin_s + span.measured_s)

    return Window(
        attempts=within(replay.arrival_s),
        sessions=steady.fresh & within(replay.session_start_s),
        duration_s=span.measured_s,
    )
