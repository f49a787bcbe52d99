"""When requests are sent: agent sessions in closed or open loop, tool waits, repeated attempts."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import simpy

from simulator.arrivals import profile_starts, random_starts, recorded_starts
from simulator.workload import F64, NO_PARENT, Workload, turn_names


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

    *submit* is called with an attempt's index when it is sent; the caller reports each end through `done`.
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
    ) -> None:
        self._env = env
        self._workload = workload
        self._config = config
        self._seed = seed
        self._submit = submit
        self._attempt_turn = workload.attempt_turn.tolist()
        self._turn_attempts = workload.turn_attempts.tolist()
        self._turn_session = workload.turn_session.tolist()
        self._children: dict[int, list[int]] = {}
        self._roots: dict[int, list[int]] = {}
        for turn, parent in enumerate(workload.turn_parent.tolist()):
            if parent == NO_PARENT:
                self._roots.setdefault(self._turn_session[turn], []).append(turn)
            else:
                self._children.setdefault(parent, []).append(turn)
        self._session_parent = workload.session_parent.tolist()
        self._spawned: dict[int, list[int]] = {}
        for session, turn in enumerate(self._session_parent):
            if turn != NO_PARENT:
                self._spawned.setdefault(turn, []).append(session)
        self._left = np.diff(workload.session_turns).tolist()
        self._waits = turn_waits(workload, config, seed).tolist()
        plan = workload.draws
        self._parallel = plan is not None and plan.parallel
        self._gate_s = plan.gate_s if plan is not None else 0.0
        self._draws_left: dict[int, int] = {}
        self._joins: dict[int, _Join] = {}
        self._queue: deque[int] = deque()
        self._ended: deque[tuple[int, bool]] = deque()
        self._num_active = 0
        self._pumping = False
        self.session_start_s = np.full(workload.n_sessions, np.nan)
        self.session_end_s = np.full(workload.n_sessions, np.nan)

    def start(self) -> None:
        """Begin to send."""
        roots = np.flatnonzero(self._workload.session_parent == NO_PARENT)
        if self._config.mode is SessionMode.CLOSED:
            self._queue.extend(roots.tolist())
            self._pump()
            return
        times = self._start_times(roots)
        order = np.argsort(times, kind="stable")
        self._env.process(self._arrivals(roots[order].tolist(), times[order]))

    def done(self, attempt: int, *, failed: bool = False) -> None:
        """Attempt *attempt* is finished, or was refused (*failed*: the turn is over, and its successors go on)."""
        if self._gate_s > 0 and not failed:
            self._at(self._gate_s, lambda: self._judged(attempt, failed=False))
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
            elif self._queue and self._num_active < self._config.max_concurrency:
                self._begin(self._queue.popleft())
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
        children = self._children.get(turn, ())
        spawned = self._spawned.get(turn, ())
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

    def _begin(self, session: int) -> None:
        self.session_start_s[session] = self._env.now
        self._num_active += self._session_parent[session] == NO_PARENT
        if session not in self._roots:  # a session without turns
            self._end(session)
            return
        for turn in self._roots[session]:
            self._send(turn)

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
            for child in self._children[turn]:
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
        first, last = self._turn_attempts[turn], self._turn_attempts[turn + 1]
        if not self._parallel:
            self._submit(first)
            return
        self._draws_left[turn] = last - first
        for attempt in range(first, last):
            self._submit(attempt)

    def _arrivals(self, sessions: list[int], times: F64) -> Generator[simpy.Event, None, None]:
        for session, time_s in zip(sessions, times.tolist(), strict=True):
            if time_s > self._env.now:
                yield self._env.timeout(time_s - self._env.now)
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
        drawn = config.tool_waits is ToolWaits.DRAWN
        duration_s = runs.drawn(turn_names(workload), seed) if drawn else runs.duration_s
        tool = runs.slowest(np.where(np.isnan(duration_s), config.unknown_tool_wait_s, duration_s), joined)
    waits = tool / config.tool_speedup
    if config.user_waits:
        waits = np.maximum(waits, np.nan_to_num(workload.turn_user_wait_s))
    return np.maximum(waits, 0.0)
