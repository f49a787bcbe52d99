"""Speculative tool execution on the sample: bounds, exact cases, and predictors that learn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from scenarios.ask import Asked, ask
from scenarios.options import ReplayOptions
from scenarios.recording import ReadOptions
from scenarios.spork import Predictor, spork
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
            saved += max(waits) - max([max(0.0, waits[0] - left), *waits[1:]])
    assert row.saved_s.value == pytest.approx(saved / work.n_sessions)
    assert row.wasted_runs == row.wasted_s == 0


def test_savings_grow_with_accuracy_in_proportion(asked: Asked) -> None:
    rows = named(asked, 0.0, 0.5, 1.0, cost_s=1.0)
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
    assert rows["commonest tool"].accuracy.value < 0.5
    assert rows["last tool"].accuracy.value > 0.9
    assert rows["last tool"].saved_s.value > rows["commonest tool"].saved_s.value


def test_an_accuracy_must_be_a_share(asked: Asked) -> None:
    with pytest.raises(ValueError, match="accuracy"):
        spork(asked, [1.2], 0.0, 0)
