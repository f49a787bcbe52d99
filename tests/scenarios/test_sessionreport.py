"""Figures by session and by task add up to those of the replay."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from scenarios.agents.sessionreport import session_reports
from scenarios.ask import ask
from scenarios.options.read import ReadOptions
from scenarios.options.replay import LoadOptions, OptionError, ReplayOptions
from simulator.gateconfig import GateConfig, GiveUp
from simulator.metrics import attributed_s, paid_s
from simulator.solved import task_of_session
from simulator.workload import NO_PARENT
from tests.shared import AGENT_LOOP


def test_tasks_hold_their_sub_agents() -> None:
    gate = GateConfig(pass_call=0.8, pass_answer=0.9, gate_s=0.1, gate_gpu_s=0.02)
    asked = ask([str(AGENT_LOOP)], ReadOptions(), ReplayOptions(gate=gate))
    report, plain = session_reports(asked, gate, 0)
    work = asked.workload
    assert (report.gamma, plain.gamma) == (8, 0)
    assert report.sessions.count == work.n_sessions
    assert report.tasks.count == int((work.session_parent == NO_PARENT).sum()) < work.n_sessions
    total = float(paid_s(asked.replay, work)[asked.replay.done].sum())
    assert total == pytest.approx(float(attributed_s(asked.replay).sum()) + 0.02 * work.n_attempts)
    for figures in (report.sessions, report.tasks):
        assert figures.gpu_s["mean"] is not None
        assert figures.gpu_s["mean"] * figures.count == pytest.approx(total)
        means = {name: getattr(figures, name)["mean"] for name in ("decode_s", "prefill_s", "queue_s", "tool_wait_s")}
        total_s = sum(means.values())
        assert figures.time_share == {name: pytest.approx(mean / total_s) for name, mean in means.items()}
        assert figures.draws["mean"] * figures.count == pytest.approx(work.n_attempts)  # type: ignore[operator]
    assert report.nu.low <= report.nu.value <= report.nu.high
    assert report.nu.value == pytest.approx(work.n_attempts / work.n_turns)
    assert report.gate is not None
    assert report.gate.gpu_s == pytest.approx(0.02 * work.n_attempts)


def test_the_task_of_a_chain_of_sub_agents_is_its_root() -> None:
    asked = ask([str(AGENT_LOOP)], ReadOptions(), ReplayOptions())
    work = asked.workload
    task = task_of_session(work)
    roots = work.session_parent == NO_PARENT
    np.testing.assert_array_equal(task[roots], np.flatnonzero(roots))
    assert (task[~roots] != np.flatnonzero(~roots)).all()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (ReplayOptions(load=LoadOptions(tool_waits="scaled")), "--tool-speedup"),
        (ReplayOptions(load=LoadOptions(tool_waits="guessed")), "--tool-waits"),
        (ReplayOptions(nu=1.2, gate=GateConfig()), "--gate"),
    ],
)
def test_contradictions_are_errors(options: ReplayOptions, text: str) -> None:
    with pytest.raises(OptionError, match=text):
        ask([str(AGENT_LOOP)], ReadOptions(), options)


def test_results_are_charged_with_the_failures_before_them() -> None:
    gate = GateConfig(pass_call=0.6, pass_answer=0.9, max_draws=2, give_up=GiveUp.END, gate_gpu_s=0.5)
    asked = ask([str(AGENT_LOOP)], ReadOptions(), ReplayOptions(gate=gate))
    work, replay = asked.workload, asked.replay
    report = session_reports(asked, gate, 0)[0]
    assert report.gate is not None
    assert work.draws is not None
    first = work.turn_attempts[:-1]
    abandoned = replay.abandoned[first]
    assert report.gate.turns_abandoned == abandoned.sum() > 0
    assert report.gate.turns_given_up == (work.draws.given_up & ~abandoned).sum() > 0
    assert report.gate.verdicts == replay.done.sum() == asked.answer.replay.conservation["requests_completed"]
    assert sum(report.gate.rejected_by.values()) == (replay.done & work.attempt_rejected).sum()
    assert report.cost.accepted_turns == report.gate.verdicts - sum(report.gate.rejected_by.values())
    task = task_of_session(work)
    failed = {int(task[work.turn_session[turn]]) for turn in np.flatnonzero(work.draws.given_up | abandoned)}
    assert report.cost.solved_tasks == report.tasks.count - len(failed)
    spent = float(attributed_s(replay).sum()) + 0.5 * report.gate.verdicts
    assert report.cost.gpu_s_per_accepted_turn == pytest.approx(spent / report.cost.accepted_turns)
    assert asked.answer.replay.cost.C_total_s == pytest.approx(report.cost.gpu_s_per_accepted_turn)
    assert any("ended the session" in warning for warning in asked.answer.warnings)
    if report.cost.solved_tasks:
        assert report.cost.gpu_s_per_solved_task == pytest.approx(spent / report.cost.solved_tasks)


def test_the_gate_s_cost_is_in_every_saving() -> None:
    gate = GateConfig(pass_call=0.8, pass_answer=0.8)
    free, dear = (
        ask([str(AGENT_LOOP)], ReadOptions(), ReplayOptions(gate=one)).answer
        for one in (gate, replace(gate, gate_gpu_s=2.0))
    )
    assert dear.verdict is not None
    assert free.verdict is not None
    cost = free.replay.cost
    assert dear.replay.cost.C_total_s == pytest.approx(cost.C_total_s + cost.nu * 2.0)
    assert dear.replay.cost.C_gate_s == pytest.approx(2.0)
    assert 0 < dear.verdict.net_saving.value < free.verdict.net_saving.value
    for one, other in zip(free.gamma_curve, dear.gamma_curve, strict=True):
        assert abs(other.net_saving) < abs(one.net_saving)
