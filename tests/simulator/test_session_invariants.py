"""Invariants of agent sessions (docs/invariants.md): joins, gated draws, drawn waits, over random small workloads."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simulator import metrics
from simulator.gate import gated
from simulator.gateconfig import Check, GateConfig, GiveUp, RetryPrompt, Rule
from simulator.replay import Replay, run
from simulator.sessions import turn_waits
from simulator.sessiontime import session_times
from simulator.toolruns import ToolRuns
from simulator.workload import NO_PARENT, Workload
from tests.simulator.cases import Case, cases

examples = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def gates(draw: st.DrawFn) -> GateConfig:
    shares = st.sampled_from([0.2, 0.6, 1.0])
    parallel = draw(st.none() | st.integers(1, 3))
    appended = parallel is None and draw(st.booleans())
    return GateConfig(
        pass_call=draw(shares),
        pass_answer=draw(shares),
        max_draws=None if parallel is not None else draw(st.integers(1, 3)),
        parallel_draws=parallel,
        prompt=RetryPrompt.APPENDED if appended else RetryPrompt.SAME,
        error_tokens=2 if appended else 0,
        give_up=draw(st.sampled_from(list(GiveUp))),
        gate_s=draw(st.sampled_from([0.0, 0.25])),
    )


def judged(case: Case, gate: GateConfig) -> tuple[Workload, Replay]:
    workload = gated(case.workload, gate, case.config.seed)
    return workload, run(workload, case.config)


def turn_end(workload: Workload, replay: Replay, gate: GateConfig) -> np.ndarray:
    """When each turn is over: its last draw's verdict; a refused draw ends it and needs none."""
    first = workload.turn_attempts[:-1]
    ends = np.maximum.reduceat(replay.finish_s, first)
    refused = np.logical_or.reduceat(replay.refused, first)
    return np.where(refused, ends, ends + gate.gate_s)


@examples
@given(cases(), gates())
def test_inv_14_draws_follow_the_gate(case: Case, gate: GateConfig) -> None:
    work, replay = judged(case, gate)
    first = work.turn_attempts[work.attempt_turn]
    again = np.flatnonzero((np.arange(work.n_attempts) > first) & ~replay.refused)
    if gate.parallel_draws is not None:
        np.testing.assert_allclose(replay.arrival_s[again], replay.arrival_s[first[again]], atol=1e-9)
    else:
        np.testing.assert_allclose(replay.arrival_s[again], replay.finish_s[again - 1] + gate.gate_s, atol=1e-9)
    counts = metrics.conservation(replay, work)
    over = counts["requests_completed"] + counts["requests_refused"] + counts["requests_abandoned"]
    assert counts["requests_injected"] == over
    assert counts["attributed_s"] == pytest.approx(counts["busy_s"], rel=1e-9, abs=1e-12)


@examples
@given(cases(), gates())
def test_inv_15_turns_join_sub_agents_and_verdicts(case: Case, gate: GateConfig) -> None:
    work, replay = judged(case, gate)
    load = case.config.load
    over_s = turn_end(work, replay, gate)
    sent_s = replay.arrival_s[work.turn_attempts[:-1]]
    waits = turn_waits(work, load)
    for turn, parent in enumerate(work.turn_parent):
        if parent == NO_PARENT or replay.abandoned[work.turn_attempts[turn]]:
            continue
        joined = replay.session_end_s[work.session_parent == parent] if load.join_sub_agents else []
        assert sent_s[turn] == pytest.approx(max([over_s[parent] + waits[parent], *joined]), abs=1e-9)
    for session, parent in enumerate(work.session_parent):
        sent = ~replay.abandoned[work.turn_attempts[work.session_turns[session] : work.session_turns[session + 1]]]
        if parent != NO_PARENT and sent.any():
            assert replay.session_start_s[session] == pytest.approx(over_s[parent], abs=1e-9)


@examples
@given(cases(), st.integers(1, 4))
def test_inv_16_verdicts_belong_to_draws(case: Case, limit: int) -> None:
    """A draw passes or fails whatever the gate's limit, so a longer one only adds draws to turns given up."""
    short = gated(case.workload, GateConfig(pass_call=0.5, pass_answer=0.5, max_draws=limit), 1)
    long = gated(case.workload, GateConfig(pass_call=0.5, pass_answer=0.5, max_draws=limit + 2), 1)
    assert short.draws is not None
    draws = np.diff(short.turn_attempts), np.diff(long.turn_attempts)
    passed = ~short.draws.given_up
    np.testing.assert_array_equal(draws[0][passed], draws[1][passed])
    assert (draws[0] <= limit).all()
    assert (draws[1][~passed] > draws[0][~passed]).all()
    best = gated(case.workload, GateConfig(pass_call=0.5, pass_answer=0.5, parallel_draws=limit), 1)
    assert best.draws is not None
    np.testing.assert_array_equal(best.draws.given_up, short.draws.given_up)


@examples
@given(st.lists(st.lists(st.tuples(st.integers(0, 2), st.none() | st.integers(1, 9)), max_size=3), max_size=8))
def test_inv_17_drawn_waits_are_the_tool_s_own(turns: list[list[tuple[int, int | None]]]) -> None:
    flat = [run for turn in turns for run in turn]
    runs = ToolRuns(
        ("a", "b", "c"),
        np.array([tool for tool, _ in flat], np.int32),
        np.array([np.nan if wait is None else 10.0 * tool + wait / 10 for tool, wait in flat]),
        np.cumsum([0, *map(len, turns)]),
    )
    names = [("s", str(number)) for number in range(len(turns))]
    drawn = runs.drawn(names, 3)
    for tool in range(3):
        own = runs.tool == tool
        recorded = set(runs.duration_s[own & ~np.isnan(runs.duration_s)].tolist())
        values = drawn[own]
        assert set(values[~np.isnan(values)].tolist()) <= recorded
        assert not recorded or not np.isnan(values).any()
    np.testing.assert_array_equal(drawn, runs.drawn(names, 3))


@examples
@given(cases(), gates())
def test_inv_18_a_session_that_was_ended_sends_nothing_more(case: Case, gate: GateConfig) -> None:
    """Under give-up=end a turn is sent or abandoned: abandoned if its session, or what would start it, was ended."""
    work, replay = judged(case, replace(gate, give_up=GiveUp.END))
    plan, first = work.draws, work.turn_attempts[:-1]
    assert plan is not None
    abandoned = replay.abandoned[first]
    np.testing.assert_array_equal(replay.abandoned, abandoned[work.attempt_turn])
    refused = np.logical_or.reduceat(replay.refused & ~replay.abandoned, first)
    ending = plan.given_up & ~abandoned & ~refused
    over_s = turn_end(work, replay, gate)
    owner = work.turn_session
    for session in range(work.n_sessions):
        own = owner == session
        parent = work.session_parent[session]
        never_started = parent != NO_PARENT and (abandoned[parent] or ending[parent])
        assert not abandoned[own].any() or never_started or ending[own].any()
        if never_started:
            assert abandoned[own].all()
        elif ending[own].any():
            ended_s = over_s[own & ending].min()
            sent = own & ~abandoned
            assert (replay.arrival_s[first][sent] <= ended_s + 1e-9).all()
            assert replay.finish_s[first][own & abandoned] == pytest.approx(ended_s)
            assert replay.session_end_s[session] == pytest.approx(over_s[sent].max())


@examples
@given(cases(), gates())
def test_inv_19_the_time_of_a_session_is_the_sum_of_its_parts(case: Case, gate: GateConfig) -> None:
    """Checked moment by moment: between two events each session does the furthest of what its requests do."""
    work, replay = judged(case, gate)
    parts = session_times(replay, work)
    owner = work.turn_session[work.attempt_turn]
    for session in range(work.n_sessions):
        own = np.flatnonzero((owner == session) & replay.done)
        start, end = replay.session_start_s[session], replay.session_end_s[session]
        marks = [start, end, *(column[own] for column in (replay.arrival_s, replay.scheduled_s, replay.first_token_s))]
        events = np.unique(np.concatenate([np.atleast_1d(one) for one in (*marks, replay.finish_s[own])]))
        spent = dict.fromkeys(parts, 0.0)
        for low, high in pairwise(events.tolist()):
            under_way = own[(replay.arrival_s[own] <= low) & (replay.finish_s[own] >= high)]
            decoding = (replay.first_token_s[under_way] <= low).any()
            scheduled = (replay.scheduled_s[under_way] <= low).any()
            name = (
                "decode_s" if decoding else "prefill_s" if scheduled else "queue_s" if under_way.size else "tool_wait_s"
            )
            spent[name] += high - low
        assert {name: float(values[session]) for name, values in parts.items()} == pytest.approx(spent, abs=1e-9)
        assert sum(spent.values()) == pytest.approx(end - start, abs=1e-9)


@examples
@given(cases(), gates())
def test_inv_16_checks_share_the_verdict(case: Case, gate: GateConfig) -> None:
    """Naming the checks changes no draw: a probability split into factors passes the same draws."""
    whole = replace(gate, pass_call=0.42, pass_answer=0.5)
    rules = tuple(
        Rule(check=check, kind=kind, passing=passing)
        for check, kind, passing in (
            (Check.SCHEMA, "call", 0.7),
            (Check.TESTS, "call", 0.6),
            (Check.JUDGE, "answer", 0.5),
        )
    )
    parts = replace(gate, pass_call=1.0, pass_answer=1.0, rules=rules)
    one, other = (gated(case.workload, config, 5) for config in (whole, parts))
    np.testing.assert_array_equal(one.attempt_rejected, other.attempt_rejected)
    assert one.draws is not None
    assert other.draws is not None
    np.testing.assert_array_equal(one.draws.rejected_by >= 0, other.draws.rejected_by >= 0)
    assert set(one.draws.rejected_by.tolist()) <= {-1, 0}
    assert set(other.draws.rejected_by.tolist()) <= {-1, 1, 2, 3}
