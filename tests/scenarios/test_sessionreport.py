"""Figures by session and by task add up to those of the replay."""

from __future__ import annotations

import numpy as np
import pytest

from scenarios.ask import ask
from scenarios.options import LoadOptions, OptionError, ReplayOptions
from scenarios.recording import ReadOptions
from scenarios.sessionreport import session_reports, task_of_session
from simulator.gate import GateConfig
from simulator.metrics import attributed_s
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
    total = float(attributed_s(asked.replay)[asked.replay.done].sum())
    for figures in (report.sessions, report.tasks):
        assert figures.gpu_s["mean"] is not None
        assert figures.gpu_s["mean"] * figures.count == pytest.approx(total)
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
