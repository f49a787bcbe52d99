"""Sends a workload to the reference engine, event by event."""

from __future__ import annotations

import heapq

import numpy as np

from simulator import rng
from simulator.acceptance.base import Outputs
from simulator.replay import ReplayConfig
from simulator.sessions import SessionMode
from simulator.workload import Workload
from tests.simulator.reference_engine import Engine, Seq
from tokenclass.identity import hashed_name


class Client:
    """Sends attempts: a turn after its parent turn and the wait, an attempt after the one before."""

    def __init__(self, workload: Workload, config: ReplayConfig) -> None:
        self.workload = workload
        self.config = config
        self.engine = Engine(config.engine, config.cost, self._done)
        self.seqs = _sequences(workload, config)
        self.events: list[tuple[float, int, int | None]] = []
        self.arrivals: list[tuple[float, int]] = []
        self.left = np.diff(workload.session_turns)
        self.queue: list[int] = []
        self.active = 0
        self.ended: list[tuple[Seq, float]] = []
        self.joins: dict[int, int] = {}
        """Sub-agents under way that the successors of a turn wait for."""
        self._pumping = False
        self._count = 0

    def run(self) -> Engine:
        """Replay to the end. Raises AssertionError if the engine can make no progress."""
        now = 0.0
        self._start()
        while True:
            step = self.engine.schedule(now)
            if not step.rounds and not step.chunks:
                if step.preempted:
                    continue
                if not self.events:
                    break
                now = self.events[0][0]
                self._deliver(now)
                continue
            now += self.engine.time_of(step)
            self._deliver(now)
            self.engine.complete(step, now)
        assert not self.engine.running
        assert not self.engine.waiting
        return self.engine

    def _start(self) -> None:
        roots = np.flatnonzero(self.workload.session_parent < 0).tolist()
        if self.config.load.mode is SessionMode.CLOSED:
            self.queue = roots
            self._pump(0.0)
            return
        assert self.config.load.mode is SessionMode.RECORDED
        starts = self.workload.session_start_s
        first = min(starts[session] for session in roots)
        order = sorted(roots, key=lambda session: float(starts[session]))
        self.arrivals = [(float(starts[session] - first), session) for session in order]
        self._arrive(0.0)

    def _arrive(self, now: float) -> None:
        """Begin the sessions that are due, then wait for the next: at one instant, what was set first comes first."""
        while self.arrivals and self.arrivals[0][0] <= now:
            self._begin(self.arrivals.pop(0)[1], now)
        if self.arrivals:
            self._push(self.arrivals[0][0], None)

    def _push(self, time_s: float, what: int | None) -> None:
        """Send attempt *what* at *time_s*; None: look for sessions that are due."""
        heapq.heappush(self.events, (time_s, self._count, what))
        self._count += 1

    def _deliver(self, until_s: float) -> None:
        while self.events and self.events[0][0] <= until_s:
            time_s, _, what = heapq.heappop(self.events)
            if what is None:
                self._arrive(time_s)
            else:
                self.engine.submit(self.seqs[what], time_s)

    def _begin(self, session: int, now: float) -> None:
        self.active += self.workload.session_parent[session] < 0
        first, last = self.workload.session_turns[session : session + 2]
        for turn in range(first, last):
            if self.workload.turn_parent[turn] < 0:
                self.engine.submit(self.seqs[self.workload.turn_attempts[turn]], now)

    def _done(self, seq: Seq, now: float) -> None:
        self.ended.append((seq, now))
        self._pump(now)

    def _pump(self, now: float) -> None:
        """Follow up ends in order, then begin sessions in free places; not from within itself."""
        if self._pumping:
            return
        self._pumping = True
        closed = self.config.load.mode is SessionMode.CLOSED
        while self.ended or (closed and self.queue and self.active < self.config.load.max_concurrency):
            if self.ended:
                self._follow(*self.ended.pop(0))
            else:
                self._begin(self.queue.pop(0), now)
        self._pumping = False

    def _follow(self, seq: Seq, now: float) -> None:
        work = self.workload
        turn = int(work.attempt_turn[seq.id])
        if seq.refused:
            for other in self.seqs[seq.id + 1 : work.turn_attempts[turn + 1]]:
                other.refused, other.arrival_s, other.finish_s = True, now, now
        elif seq.id + 1 < work.turn_attempts[turn + 1]:
            self.engine.submit(self.seqs[seq.id + 1], now)
            return
        spawned = np.flatnonzero(work.session_parent == turn).tolist()
        children = np.flatnonzero(work.turn_parent == turn).tolist()
        joins = bool(spawned and children) and self.config.load.join_sub_agents
        wait_s = 0.0 if joins else float(np.nan_to_num(work.turn_tool_wait_s[turn]))
        if joins:
            self.joins[turn] = len(spawned)
        else:
            self._go_on(children, now, wait_s)
        for session in spawned:
            self._begin(session, now)
        session = int(work.turn_session[turn])
        self.left[session] -= 1
        if not self.left[session]:
            self._session_over(session, now)

    def _go_on(self, turns: list[int], now: float, wait_s: float) -> None:
        for turn in turns:
            attempt = int(self.workload.turn_attempts[turn])
            if wait_s > 0:
                self._push(now + wait_s, attempt)
            else:
                self.engine.submit(self.seqs[attempt], now)

    def _session_over(self, session: int, now: float) -> None:
        turn = int(self.workload.session_parent[session])
        if turn < 0:
            self.active -= 1
        elif turn in self.joins:
            self.joins[turn] -= 1
            if not self.joins[turn]:
                self._go_on(np.flatnonzero(self.workload.turn_parent == turn).tolist(), now, 0.0)


def _sequences(workload: Workload, config: ReplayConfig) -> list[Seq]:
    """One sequence an attempt, with the outcome of a round from each of its tokens."""
    seqs = []
    gamma = config.engine.num_speculative_tokens
    for attempt, turn in enumerate(workload.attempt_turn.tolist()):
        prompt = int(workload.turn_prompt_tokens[turn])
        labels = workload.labels[workload.offsets[attempt] : workload.offsets[attempt + 1]]
        labels = labels[: max(0, config.engine.max_model_len - prompt)]
        session = workload.session_ids[int(workload.turn_session[turn])]
        draw = attempt - int(workload.turn_attempts[turn])
        key = rng.key(config.seed, hashed_name(session), hashed_name(workload.turn_ids[turn]), draw, "acceptance")
        accepted = drafted = [0] * len(labels)
        if config.acceptance is not None and gamma:
            outputs = Outputs(labels, np.array([0, len(labels)]), np.array([key], np.uint64), np.array([prompt]))
            potential = config.acceptance.potential(outputs, gamma)
            accepted, drafted = potential.accepted.tolist(), potential.drafted.tolist()
        path = workload.paths.paths[attempt].tolist()
        seqs.append(Seq(attempt, prompt, path, len(labels), accepted, drafted, labels.tolist()))
    return seqs
