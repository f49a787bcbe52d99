"""When requests are sent: agent sessions in closed or open loop, tool waits, repeated attempts."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import simpy

from simulator.arrivals import profile_starts, random_starts, recorded_starts
from simulator.longcolumns import apart, full_apart, narrow, zeros_of
from simulator.toolruns import ToolRuns
from simulator.workload import F64, I32, I64, NO_PARENT, Workload, turn_names


class SessionMode(StrEnum):
    """What starts a session. Within a session a turn always waits for the one before and for its tools."""

    CLOSED = "closed"
    """A new session starts when one of max_concurrency is done."""
    RATE = "rate"
    """Sessions arrive at random, so that requests come at request_rate on average."""
    RECORDED = "recorded"
    """Sessions start at their recorded times."""
    PROFILE = "profile"
    """Sessions arrive at random, at the rate of the hour."""


class ToolWaits(StrEnum):
    """Where the durations of tools come from."""

    RECORDED = "recorded"
    """As recorded, divided by tool_speedup."""
    DRAWN = "drawn"
    """Drawn anew from those recorded of the same tool, divided by tool_speedup."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadConfig:
    """How the workload is offered. Raises ValueError on values out of range."""

    mode: SessionMode = SessionMode.CLOSED
    max_concurrency: int = 8
    request_rate_per_s: float = float("inf")
    burstiness: float = 1.0
    """1: Poisson arrivals; below: burstier (gamma-distributed gaps of that shape, as in vLLM's benchmark)."""
    speedup: float = 1.0
    """Recorded times are divided by it."""
    hourly_rates_per_s: tuple[float, ...] = ()
    """Requests per second in each hour of a profile, repeated after its end."""
    tool_waits: ToolWaits = ToolWaits.RECORDED
    tool_speedup: float = 1.0
    """Tool waits are divided by it; infinity leaves them out."""
    unknown_tool_wait_s: float = 0.0
    """Wait of a tool whose duration is not recorded."""
    user_waits: bool = False
    """Whether recorded waits for a person are kept."""
    join_sub_agents: bool = True
    """Whether the turn after one that started sub-agents waits for their ends, in place of as many of its tools."""

    def __post_init__(self) -> None:
        if self.max_concurrency < 1:
            raise ValueError(f"--max-concurrency is {self.max_concurrency}; it must be at least 1")
        for name in ("request_rate_per_s", "burstiness", "speedup", "tool_speedup"):
            if not getattr(self, name) > 0:
                raise ValueError(f"--{name.removesuffix('_per_s').replace('_', '-')} must be above 0")
        if self.unknown_tool_wait_s < 0:
            raise ValueError("--unknown-tool-wait must not be negative")
        rates = self.hourly_rates_per_s
        if self.mode is SessionMode.PROFILE and not (rates and min(rates) >= 0 and sum(rates) > 0):
            raise ValueError("--arrival-profile needs hourly rates of 0 or more, one of them above 0")


class SessionDriver:
    """Sends the attempts of a workload in their causal order.

    *submit* is called with an attempt's index when it is sent; the caller reports each end through `done`. *abandon* is
    called instead for attempts that are never sent, because their session was ended.
    A session's children (sub-agents) start when the turn that spawned them is done, run beside their parent, and are
    not counted as sessions of their own for max_concurrency.
    """

    def __init__(
        self,
        env: simpy.Environment,
        workload: Workload,
        config: LoadConfig,
        seed: int,
        submit: Callable[[int], None],
        abandon: Callable[[int], None],
    ) -> None:
        self._env = env
        self._workload = workload
        self._config = config
        self._seed = seed
        self._submit = submit
        self._abandon = abandon
        turns = np.arange(workload.n_turns)
        rooted = workload.turn_parent == NO_PARENT
        spawned = np.flatnonzero(workload.session_parent != NO_PARENT)
        self._attempt_turn = narrow(workload.attempt_turn).data
        self._turn_attempts = workload.turn_attempts.data
        self._turn_session = narrow(workload.turn_session).data
        self._children = _Groups(workload.n_turns, workload.turn_parent[~rooted], turns[~rooted])
        self._roots = _Groups(workload.n_sessions, workload.turn_session[rooted], turns[rooted])
        self._session_parent = workload.session_parent.data
        self._spawned = _Groups(workload.n_turns, workload.session_parent[spawned], spawned)
        self._left = _counter(np.diff(workload.session_turns)).data
        self._waits = apart(turn_waits(workload, config, seed)).data
        plan = workload.draws
        self._parallel = plan is not None and plan.parallel
        self._gate_s = plan.gate_s.data if plan is not None and plan.gate_s.any() else None
        self._ending = plan.given_up.data if plan is not None and plan.ends_sessions else None
        self._begun = np.zeros(workload.n_turns if self._ending is not None else 0, dtype=np.bool_)
        self._draws_left: dict[int, int] = {}
        self._joins: dict[int, _Join] = {}
        self._queue: Iterator[int] = iter(())
        self._num_queued = 0
        self._ended: deque[tuple[int, bool]] = deque()
        self._coming: Iterator[tuple[float, int]] = iter(())
        self._due: int | None = None
        self._num_active = 0
        self._pumping = False
        self.session_start_s = full_apart(workload.n_sessions, np.nan, np.float64)
        self.session_end_s = full_apart(workload.n_sessions, np.nan, np.float64)

    def start(self) -> None:
        """Begin to send."""
        roots = np.flatnonzero(self._workload.session_parent == NO_PARENT)
        if self._config.mode is SessionMode.CLOSED:
            self._queue = iter(narrow(roots).data)
            self._num_queued = roots.size
            self._pump()
            return
        times = self._start_times(roots)
        order = np.argsort(times, kind="stable")
        self._coming = zip(apart(times[order]).data, narrow(roots[order]).data, strict=True)
        self._arrive()

    def done(self, attempt: int, *, failed: bool = False) -> None:
        """Attempt *attempt* is finished, or was refused (*failed*: the turn is over, and its successors go on)."""
        wait_s = self._gate_s[attempt] if self._gate_s is not None and not failed else 0.0
        if wait_s > 0:
            self._at(wait_s, lambda: self._judged(attempt, failed=False))
            return
        self._judged(attempt, failed=failed)

    def _judged(self, attempt: int, *, failed: bool) -> None:
        self._ended.append((attempt, failed))
        self._pump()

    def _pump(self) -> None:
        """Act on ends and free places one after the other; a submission refused meanwhile only adds to them."""
        if self._pumping:
            return
        self._pumping = True
        while True:
            if self._ended:
                self._follow(*self._ended.popleft())
            elif self._num_queued and self._num_active < self._config.max_concurrency:
                self._num_queued -= 1
                self._begin(next(self._queue))
            else:
                break
        self._pumping = False

    def _follow(self, attempt: int, failed: bool) -> None:
        turn = self._attempt_turn[attempt]
        if self._parallel:
            self._draws_left[turn] -= 1
            if self._draws_left[turn]:
                return
        elif attempt + 1 < self._turn_attempts[turn + 1] and not failed:
            self._submit(attempt + 1)
            return
        if self._ending is not None and self._ending[turn] and not failed:
            self._cut(turn)
            return
        children = self._children.of(turn)
        spawned = self._spawned.of(turn)
        if spawned and children and self._config.join_sub_agents:
            self._joins[turn] = _Join(len(spawned), self._env.now + self._waits[turn])
        else:
            for child in children:
                self._after(self._waits[turn], child)
        for session in spawned:
            self._begin(session)
        session = self._turn_session[turn]
        self._left[session] -= 1
        if not self._left[session]:
            self._end(session)

    def _cut(self, turn: int) -> None:
        """*turn* was given up: it is over, and no turn of its session, or of sub-agents those start, is sent."""
        session = self._turn_session[turn]
        self._left[session] -= 1
        ended, coming = [session], self._spawned.of(turn)
        bounds = self._workload.session_turns
        while coming or ended:
            if not ended:
                ended.append(coming.pop())
            one = ended.pop()
            for other in range(bounds[one], bounds[one + 1]):
                if self._begun[other]:
                    continue
                self._begun[other] = True
                self._left[one] -= 1
                for attempt in range(self._turn_attempts[other], self._turn_attempts[other + 1]):
                    self._abandon(attempt)
                coming += self._spawned.of(other)
        if not self._left[session]:
            self._end(session)

    def _begin(self, session: int) -> None:
        self.session_start_s[session] = self._env.now
        self._num_active += self._session_parent[session] == NO_PARENT
        roots = self._roots.of(session)
        for turn in roots:
            self._send(turn)
        if not roots:  # a session without turns
            self._end(session)

    def _end(self, session: int) -> None:
        self.session_end_s[session] = self._env.now
        turn = self._session_parent[session]
        self._num_active -= turn == NO_PARENT
        join = self._joins.get(turn)
        if join is None:
            return
        join.sessions -= 1
        if not join.sessions:
            del self._joins[turn]
            for child in self._children.of(turn):
                self._after(join.ready_s - self._env.now, child)

    def _after(self, wait_s: float, turn: int) -> None:
        if wait_s <= 0:
            self._send(turn)
        else:
            self._at(wait_s, lambda: self._send(turn))

    def _at(self, wait_s: float, act: Callable[[], None]) -> None:
        timeout = self._env.timeout(wait_s)
        timeout.callbacks.append(lambda _: act())

    def _send(self, turn: int) -> None:
        if self._ending is not None:
            if self._begun[turn]:
                return
            self._begun[turn] = True
        first, last = self._turn_attempts[turn], self._turn_attempts[turn + 1]
        if not self._parallel:
            self._submit(first)
            return
        self._draws_left[turn] = last - first
        for attempt in range(first, last):
            self._submit(attempt)

    def _arrive(self, _: simpy.Event | None = None) -> None:
        """Begin the session that is due, if any, and those with it, then wait for the next one."""
        if self._due is not None:
            self._begin(self._due)
            self._due = None
        now_s = self._env.now
        for time_s, session in self._coming:
            if time_s > now_s:
                self._due = session
                self._env.timeout(time_s - now_s).callbacks.append(self._arrive)
                return
            self._begin(session)

    def _start_times(self, sessions: np.ndarray[tuple[int], np.dtype[np.int64]]) -> F64:
        config = self._config
        if config.mode is SessionMode.RECORDED:
            times: F64 = recorded_starts(self._workload)[sessions]
            times -= times.min()
            return times / config.speedup
        turns_per_session = self._workload.n_turns / max(1, sessions.size)
        if config.mode is SessionMode.PROFILE:
            rates = tuple(rate / turns_per_session for rate in config.hourly_rates_per_s)
            return profile_starts(sessions.size, rates, config.burstiness, self._seed)
        rate = config.request_rate_per_s / turns_per_session
        return random_starts(sessions.size, rate, config.burstiness, self._seed)


class _Groups:
    """Numbers by the group that they belong to, in order; *groups* and *members* are parallel."""

    def __init__(self, n_groups: int, groups: I32 | I64, members: I64) -> None:
        order = np.argsort(groups, kind="stable")
        self._members = narrow(members[order])
        self._bounds = narrow(np.searchsorted(groups[order], np.arange(n_groups + 1))).data

    def of(self, group: int) -> list[int]:
        """The members of *group*."""
        low, high = self._bounds[group], self._bounds[group + 1]
        return self._members[low:high].tolist() if low < high else []


def _counter(counts: I64) -> I32:
    """*counts*, to be counted down."""
    found = zeros_of(counts.size, np.int32)
    found[:] = counts
    return found


@dataclass(slots=True)
class _Join:
    """What the successors of a turn still wait for."""

    sessions: int
    """Sub-agents under way."""
    ready_s: float
    """When the turn's other tools are over."""


def turn_waits(workload: Workload, config: LoadConfig, seed: int = 0) -> F64:
    """Seconds that the successors of each turn wait after it, sub-agents that they join apart.

    A turn whose successors join m sub-agents waits for its tools without the m longest: those stood for them.
    """
    joined = np.zeros(workload.n_turns, dtype=np.int64)
    if config.join_sub_agents:
        spawners = workload.session_parent[workload.session_parent != NO_PARENT]
        np.add.at(joined, spawners, 1)
        followed = np.zeros(workload.n_turns, dtype=np.bool_)
        followed[workload.turn_parent[workload.turn_parent != NO_PARENT]] = True
        joined[~followed] = 0
    runs = workload.tool_runs
    if runs is None:
        tool = np.where(np.isnan(workload.turn_tool_wait_s), config.unknown_tool_wait_s, workload.turn_tool_wait_s)
        tool = np.where(workload.turn_has_tools & (joined == 0), tool, 0.0)
    else:
        tool = runs.slowest(run_durations(runs, workload, config, seed), joined)
    waits = tool / config.tool_speedup
    if config.user_waits:
        waits = np.maximum(waits, np.nan_to_num(workload.turn_user_wait_s))
    return np.maximum(waits, 0.0)


def run_durations(runs: ToolRuns, workload: Workload, config: LoadConfig, seed: int) -> F64:
    """Seconds of each tool run, recorded or drawn, unknown ones filled, before they are divided by tool_speedup."""
    drawn = config.tool_waits is ToolWaits.DRAWN
    duration_s = runs.drawn(turn_names(workload), seed) if drawn else runs.duration_s
    return np.where(np.isnan(duration_s), config.unknown_tool_wait_s, duration_s)
