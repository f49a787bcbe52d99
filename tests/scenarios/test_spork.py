"""Speculative tool execution on the sample: bounds, exact cases, and predictors that learn."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scenarios.agents.spork import Predictor, spork
from scenarios.agents.sporkcalls import TurnCalls, matched
from scenarios.ask import Asked, ask
from scenarios.options.read import ReadOptions
from scenarios.options.replay import LoadOptions, ReplayOptions
from simulator.toolruns import ToolRuns
from simulator.workload import NO_PARENT
from tests.shared import AGENT_LOOP


@pytest.fixture(scope="module")
def asked() -> Asked:
    return ask([str(AGENT_LOOP)], ReadOptions(), ReplayOptions())


def named(asked: Asked, *accuracies: float, cost_s: float = 0.0) -> dict[str, Predictor]:
    return {row.name: row for row in spork(asked, accuracies, cost_s, 0).predictors}


def test_certain_guesses_save_the_overlap_and_waste_nothing(asked: Asked) -> None:
    row = named(asked, 1.0)["declared 1"]
    work, replay = asked.workload, asked.replay
    runs = work.tool_runs
    assert runs is not None
    final = work.turn_attempts[1:] - 1
    saved = 0.0
    spawning = set(work.session_parent[work.session_parent != NO_PARENT].tolist())
    for turn in range(work.n_turns):
        waits = runs.duration_s[runs.offsets[turn] : runs.offsets[turn + 1]].tolist()
        if waits and turn not in spawning:
            left = replay.finish_s[final[turn]] - replay.first_token_s[final[turn]]
            saved += max(waits) - max(max(0.0, wait - left) for wait in waits)
    assert row.saved_s.value == pytest.approx(saved / work.n_sessions)
    assert row.wasted_runs == row.wasted_s == 0


def test_savings_grow_with_accuracy_in_proportion(asked: Asked) -> None:
    rows = named(cyclic(asked, 3), 0.0, 0.5, 1.0, cost_s=1.0)
    assert rows["declared 0"].saved_s.value == 0
    assert rows["declared 0.5"].saved_s.value == pytest.approx(rows["declared 1"].saved_s.value / 2)
    assert rows["declared 0"].wasted_s > rows["declared 0.5"].wasted_s > rows["declared 1"].wasted_s == 0


def cyclic(asked: Asked, period: int) -> Asked:
    """The sample with one call a turn whose tools go round in a cycle, the cycle running on from session to session."""
    work = asked.workload
    turns = work.n_turns
    order = np.concatenate([np.arange(count) for count in np.diff(work.session_turns)]) % period
    runs = ToolRuns(
        tuple(f"tool {number}" for number in range(period)),
        order.astype(np.int32),
        np.ones(turns),
        np.arange(turns + 1),
    )
    return replace(asked, workload=replace(work, tool_runs=runs))


def test_the_last_tool_predicts_a_cycle_that_the_commonest_does_not(asked: Asked) -> None:
    rows = named(cyclic(asked, 3))
    assert rows["commonest calls"].accuracy.value < 0.5
    assert rows["Markov of order 1"].accuracy.value > 0.9
    assert rows["Markov of order 1"].saved_s.value > rows["commonest calls"].saved_s.value


def alternating(asked: Asked) -> Asked:
    """The sample with one tool called after every second turn of a session, and the same one always."""
    work = asked.workload
    calling = np.concatenate([np.arange(count) for count in np.diff(work.session_turns)]) % 2
    offsets = np.concatenate([[0], np.cumsum(calling)])
    n = int(offsets[-1])
    runs = ToolRuns(("only",), np.zeros(n, dtype=np.int32), np.ones(n), offsets)
    return replace(asked, workload=replace(work, tool_runs=runs))


def test_who_is_told_that_a_turn_calls_need_not_guess_that(asked: Asked) -> None:
    rows = named(alternating(asked))
    assert rows["last calls again"].accuracy.value == 0
    assert rows["Markov of order 1"].accuracy.value > 0.8
    assert all(row.accuracy_told > 0.8 for name, row in rows.items() if name != "last calls again")
    assert rows["commonest calls"].accuracy_told > rows["commonest calls"].accuracy.value


def test_the_last_calls_again_are_right_where_nothing_changes(asked: Asked) -> None:
    row = named(parallel(asked, [3.0, 2.0]))["last calls again"]
    assert row.accuracy.value == pytest.approx(1 - asked.workload.n_sessions / asked.workload.n_turns)
    assert row.accuracy_told == row.accuracy.value


def parallel(asked: Asked, waits_s: list[float]) -> Asked:
    """The sample with the same calls after each turn, side by side: tools t0, t1, ... of those waits."""
    work, k = asked.workload, len(waits_s)
    runs = ToolRuns(
        tuple(f"t{number}" for number in range(k)),
        np.tile(np.arange(k, dtype=np.int32), work.n_turns),
        np.tile(np.array(waits_s), work.n_turns),
        np.arange(work.n_turns + 1) * k,
    )
    return replace(asked, workload=replace(work, tool_runs=runs))


@given(
    st.lists(st.floats(0, 20, allow_subnormal=False), min_size=1, max_size=4), st.sampled_from([0.0, 0.3, 0.746, 1.0])
)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_expected_saving_is_that_of_all_subsets_of_calls(
    asked: Asked, waits_s: list[float], accuracy: float
) -> None:
    calls = TurnCalls(parallel(asked, waits_s))
    for turn in (0, 5):
        expected = sum(
            calls.saved_s(turn, early) * np.prod([accuracy if one else 1 - accuracy for one in early])
            for early in product((True, False), repeat=len(waits_s))
        )
        assert calls.expected_saved_s(turn, accuracy) == pytest.approx(float(expected), abs=1e-9)


def test_the_call_that_is_not_guessed_is_waited_for(asked: Asked) -> None:
    calls = TurnCalls(parallel(asked, [50.0, 49.0]))
    turn = int(np.flatnonzero(~calls.spawning & (calls.left_s > 1.5))[0])
    left = float(calls.left_s[turn])
    assert left < 49
    assert calls.saved_s(turn, [True, True]) == pytest.approx(left)
    assert calls.saved_s(turn, [True, False]) == pytest.approx(1.0)
    assert calls.saved_s(turn, [False, True]) == 0


def test_calls_are_matched_one_to_one() -> None:
    assert matched(("a", "b", "a"), ("a",)) == [True, False, False]
    assert matched(("a", "b", "a"), ("c", "a", "a")) == [True, False, True]
    assert matched((), ("a",)) == []


def test_a_predictor_learns_which_calls_go_together(asked: Asked) -> None:
    row = named(parallel(asked, [3.0, 2.0, 1.0]))["commonest calls"]
    unknown = 2  # nothing is known of the first turn of a user's agent, nor of a sub-agent's
    share = 1 - unknown / asked.workload.n_turns
    assert row.accuracy.value == row.whole_turns == pytest.approx(share)
    assert row.guessed_by_calls == {"3": pytest.approx(3 * share)}


def test_waits_are_those_of_the_replay(asked: Asked) -> None:
    hurried = ask([str(AGENT_LOOP)], ReadOptions(), ReplayOptions(load=LoadOptions(tool_speedup=1e6)))
    assert named(hurried, 1.0)["declared 1"].saved_s.value < 1e-3 < named(asked, 1.0)["declared 1"].saved_s.value


def test_an_accuracy_must_be_a_share(asked: Asked) -> None:
    with pytest.raises(ValueError, match="accuracy"):
        spork(asked, [1.2], 0.0, 0)
