"""Steady traffic: as many tasks are under way at its start as Little's law says, and no further on than they were."""

from __future__ import annotations

import numpy as np
import pytest

from scenarios.plan.candidates import candidates
from scenarios.plan.probe import Bench
from scenarios.plan.span import Span, span_for
from scenarios.plan.targets import Objectives, parse_targets
from scenarios.plan.timeline import Timeline
from scenarios.plan.traffic import Traffic
from scenarios.recordings.loaded import load
from scenarios.resolve.measure import Measure
from simulator.workload import NO_PARENT
from tests.scenarios.plan.conftest import AXES
from tests.shared import AGENT_LOOP

SPAN = Span(warmup_s=50, measured_s=200, drain_s=50)
RATE = 2.0


@pytest.fixture(scope="module")
def bench() -> Bench:
    (one,) = candidates({}, AXES)
    asked = one.question()
    loaded = load([str(AGENT_LOOP)], asked.reading)
    objectives = Objectives(targets=parse_targets(["ttft:p99:2000"]), measure=Measure())
    traffic = Traffic.of(loaded.workload, asked.options, 30_000)
    return Bench(candidate=one, loaded=loaded, traffic=traffic, objectives=objectives)


@pytest.fixture(scope="module")
def timeline(bench: Bench) -> Timeline:
    return bench.idle()[1]


def test_tasks_under_way_follow_littles_law(bench: Bench, timeline: Timeline) -> None:
    steady = bench.traffic.steady(RATE, SPAN, timeline)
    expected = RATE * float(timeline.task_s.mean())
    names = np.array(steady.workload.session_ids)
    tasks = {name for name, fresh in zip(names, steady.fresh, strict=True) if fresh}
    assert len(tasks) == steady.tasks == pytest.approx(RATE * SPAN.total_s, abs=4 * np.sqrt(RATE * SPAN.total_s))
    old = np.flatnonzero(~steady.fresh & (steady.workload.session_parent == NO_PARENT))
    assert old.size == pytest.approx(expected, abs=4 * np.sqrt(expected) + 0.1 * expected)


def test_new_tasks_are_whole_and_old_ones_are_ends(bench: Bench, timeline: Timeline) -> None:
    steady = bench.traffic.steady(RATE, SPAN, timeline)
    workload, source = steady.workload, bench.loaded.workload
    sizes = dict(zip(source.session_ids, np.diff(source.session_turns).tolist(), strict=True))
    turns = dict(zip(source.session_ids, source.session_turns[:-1].tolist(), strict=True))
    last = {name: source.turn_ids[first + sizes[name] - 1] for name, first in turns.items()}
    for session, name in enumerate(workload.session_ids):
        recorded = name.partition("\x1f")[0]
        first, end = workload.session_turns[session : session + 2].tolist()
        assert workload.turn_ids[end - 1] == last[recorded]
        if steady.fresh[session]:
            assert end - first == sizes[recorded]


def test_a_rate_is_kept_from_the_first_second_on(bench: Bench, timeline: Timeline) -> None:
    """Requests arrive in each quarter of a long span as often as the rate of tasks says, the first one included."""
    span = Span(warmup_s=0, measured_s=600, drain_s=0)
    probe = bench.probe(20, RATE, span, timeline)
    expected = RATE * span.measured_s * bench.traffic.tiles.attempts_per_task
    assert probe.measured_requests == pytest.approx(expected, rel=0.1)


def test_the_span_holds_sessions_where_they_are_judged(timeline: Timeline) -> None:
    def span(target: str, most: int) -> Span:
        return span_for(timeline, Objectives(targets=parse_targets([target]), measure=Measure()), 1.0, 12.0, most)

    requests, sessions = span("ttft:p99:2000", 10**6), span("session:p95:2000", 10**6)
    assert sessions.drain_s == timeline.session_s > requests.drain_s
    assert sessions.measured_s >= 400
    assert requests.measured_s * 12 >= 4000
    small = span("session:p95:2000", 1200)
    assert small.shortened
    assert small.total_s * 12 == pytest.approx(1200)
