"""One replay of a plan: so many replicas of a candidate under so much traffic, judged."""

from __future__ import annotations

from dataclasses import dataclass, replace

import msgspec
import numpy as np

from scenarios.acceptance.choice import choose_acceptance
from scenarios.acceptance.drafters import Measurer, measure
from scenarios.ask import Question
from scenarios.decide import replay_once
from scenarios.options.parameters import ParameterBook
from scenarios.plan.candidates import Candidate
from scenarios.plan.span import Span
from scenarios.plan.targets import Objectives, TargetResult
from scenarios.plan.timeline import Timeline, second_half, timeline
from scenarios.plan.traffic import Traffic, steady_part
from scenarios.recordings.loaded import Loaded
from scenarios.recordings.recording import Recording
from scenarios.resolve.load import resolve_load
from simulator.metrics import attributed_s, hit_rates
from simulator.replay import Replay
from simulator.replicalog import time_weighted
from simulator.sessions import SessionMode
from simulator.window import Window
from simulator.workload import I64, Workload

_BACKLOG_SHARE = 0.02
_BACKLOG_SDS = 4.0


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """What a replay came to in its measured time."""

    replicas: int
    tasks_per_s: float
    requests: int
    """Replayed, warm-up and drain included."""
    measured_requests: int
    measured_tasks: int
    shortened: bool
    """Whether the limit on requests cut warm-up and measured time short (see Span)."""
    targets: list[TargetResult]
    falls_behind: float | None
    """Share of the measured requests by which those under way grew, where that is more than chance; else None."""
    utilization: float
    """Share of the measured time in which a replica runs steps, mean."""
    running_per_replica: float
    """Requests under way on a replica, mean over the measured time."""
    mean_kv_cache_usage: float
    prefix_cache_hit_rate: float

    @property
    def met(self) -> bool:
        """Whether all targets are met, and the replicas keep up."""
        return self.falls_behind is None and all(one.met for one in self.targets)

    @property
    def failing(self) -> TargetResult | None:
        """The target that is missed by most; None if none is."""
        missed = [one for one in self.targets if not one.met]
        return max(missed, key=lambda one: one.over) if missed else None


class Idle(msgspec.Struct, frozen=True, kw_only=True):
    """What a candidate does with one task at a time on one replica: the best latency it can give."""

    targets: list[TargetResult]
    busy_s_per_task: float
    """GPU seconds of a task when nothing is shared with others."""
    rounds_per_task: float
    fresh_tokens_per_task: float
    """Prompt tokens that were not found in the prefix cache."""
    context_tokens: float
    """Of a decoding sequence, mean."""
    prefix_cache_hit_rate: float
    assumptions: dict[str, int]
    """What its replays take for granted beside what reading the recording did."""

    @property
    def failing(self) -> TargetResult | None:
        """The target that is missed by most; None if none is."""
        missed = [one for one in self.targets if not one.met]
        return max(missed, key=lambda one: one.over) if missed else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Where the replays of a candidate are made."""

    candidate: Candidate
    loaded: Loaded
    traffic: Traffic
    objectives: Objectives
    measurer: Measurer = measure
    """Runs drafters on the recorded tokens."""

    def idle(self) -> tuple[Idle, Timeline]:
        """All tasks twice, one at a time; the first half is cut."""
        tiling = self.traffic.twice()
        workload = tiling.workload
        recording = self.loaded.own_recording()
        source = tiling.attempt_source
        replay = self._replay(self.candidate.question(), (workload, source), SessionMode.CLOSED, recording)
        half = second_half(replay, tiling)
        tasks = self.traffic.n_tasks
        kept = half.attempts
        tokens = replay.output_tokens[kept]
        tiles = self.traffic.tiles
        idle = Idle(
            targets=self.objectives.judged(replay, workload, half),
            busy_s_per_task=float(attributed_s(replay)[kept].sum()) / tasks,
            rounds_per_task=float(replay.by_step.rounds[kept].sum()) / tasks,
            fresh_tokens_per_task=float((replay.prompt_tokens - replay.hit_tokens)[kept].sum()) / tasks,
            context_tokens=float(np.average(replay.prompt_tokens[kept] + tokens / 2, weights=np.maximum(tokens, 1))),
            prefix_cache_hit_rate=hit_rates(replay, kept)[0],
            assumptions=recording.assumptions,
        )
        return idle, timeline(replay, tiling, tiles.workload.n_turns, len(tiles.sessions))

    def probe(self, replicas: int, tasks_per_s: float, span: Span, known: Timeline) -> Probe:
        """*replicas* under Poisson arrivals of *tasks_per_s*."""
        steady = self.traffic.steady(tasks_per_s, span, known)
        workload = steady.workload
        asked = self.candidate.question(replicas)
        recording = self.loaded.own_recording()
        replay = self._replay(asked, (workload, steady.source), SessionMode.RECORDED, recording)
        measured = steady_part(replay, steady, span)
        during = (steady.begin_s, span.measured_s)
        return Probe(
            replicas=replicas,
            tasks_per_s=tasks_per_s,
            requests=workload.n_attempts,
            measured_requests=int(measured.attempts.sum()),
            measured_tasks=int(measured.sessions.sum()),
            shortened=span.shortened,
            targets=self.objectives.judged(replay, workload, measured),
            falls_behind=falls_behind(replay, measured, *during),
            utilization=busy_share(replay, *during),
            running_per_replica=_under_way(replay, *during) / replicas,
            mean_kv_cache_usage=time_weighted(replay.load, "used_blocks")
            / (replay.config.engine.num_gpu_blocks * replicas),
            prefix_cache_hit_rate=hit_rates(replay, measured.attempts)[0],
        )

    def _replay(
        self, asked: Question, traffic: tuple[Workload, I64], mode: SessionMode, recording: Recording
    ) -> Replay:
        """A replay of sessions one at a time (closed), or at the times that they have.

        *traffic* is the workload, and the recorded attempt that each of its attempts repeats.
        """
        workload, source = traffic
        platform, options, book = asked.platform, asked.options, ParameterBook()
        load = replace(resolve_load(options.load, workload, book), mode=mode, max_concurrency=1)
        recorded, engine = self.loaded.workload, platform.engine
        choice = choose_acceptance(recorded, workload, engine, options, recording, book, source, self.measurer)
        engine = engine if engine.num_speculative_tokens else platform.baseline_engine
        return replay_once(workload, engine, platform, choice, load, options.seed)


def falls_behind(replay: Replay, measured: Window, begin_s: float, length_s: float) -> float | None:
    """By how much the requests under way grow from the first to the last quarter of the measured time.

    Relative to the requests that arrive in it; None where the growth is small, or within four standard deviations of
    a Poisson number of requests under way.
    """
    quarter = length_s / 4
    first = _under_way(replay, begin_s, quarter)
    last = _under_way(replay, begin_s + 3 * quarter, quarter)
    arrived = max(1, int(measured.attempts.sum()))
    growth = last - first
    if growth <= max(_BACKLOG_SHARE * arrived, _BACKLOG_SDS * np.sqrt(max(first, 1.0))):
        return None
    return float(growth / arrived)


def busy_share(replay: Replay, begin_s: float, length_s: float) -> float:
    """Share of the measured time in which a replica has something to run, mean over replicas."""
    end_s = begin_s + length_s
    shares = []
    for log in replay.replicas:
        bounds = np.clip(np.append(log.load["time_s"], end_s), begin_s, end_s)
        running = log.load["num_requests_running"] > 0
        shares.append(float(np.diff(bounds)[running].sum()) / length_s)
    return float(np.mean(shares))


def _under_way(replay: Replay, begin_s: float, length_s: float) -> float:
    """Requests under way, mean over *length_s* from *begin_s* on."""
    ends = np.minimum(np.nan_to_num(replay.finish_s), begin_s + length_s)
    starts = np.maximum(np.nan_to_num(replay.arrival_s), begin_s)
    return float(np.maximum(ends - starts, 0.0).sum() / length_s)
