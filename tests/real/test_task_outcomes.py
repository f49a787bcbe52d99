"""Outcomes of tasks as recordings give them, against the raw JSON, and what a solved task then costs."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from scenarios.agents.sessionreport import session_reports
from scenarios.ask import ask
from scenarios.options.read import ReadOptions
from scenarios.options.replay import ReplayOptions
from scenarios.report.tables import blocks
from simulator.gateconfig import GateConfig, GiveUp
from simulator.metrics import paid_s
from tests.shared import TRACES
from traces.readlog import ReadLog
from traces.registry import read_sessions
from traces.summary import summarise

TAU = TRACES / "tau-bench" / "historical_trajectories__gpt-4o-airline.json"
INSPECT = TRACES / "inspect-ai"


def rewards(path: Path, log: ReadLog | None = None) -> list[float | None]:
    return [session.reward for session in read_sessions([str(path)], log or ReadLog())]


def test_tau_bench_rewards_are_read() -> None:
    raw = json.loads(TAU.read_text())
    assert rewards(TAU) == [run["reward"] for run in raw]
    summary = summarise(read_sessions([str(TAU)], ReadLog()), ReadLog())
    assert (summary.tasks_with_outcome, summary.tasks_solved) == (200, sum(run["reward"] == 1 for run in raw))


@pytest.mark.parametrize("name", ["tau2_output__results.json", "trajectories__toolorchestra_airline_gpt-5_1trial.json"])
def test_tau2_rewards_are_the_agents_alone(name: str) -> None:
    path = TRACES / "tau2-bench" / name
    raw = [(one.get("reward_info") or {}).get("reward") for one in json.loads(path.read_text())["simulations"]]
    assert rewards(path) == raw
    both = read_sessions([str(path)], ReadLog(simulated_users=True))
    assert {session.reward for session in both if session.parent is not None} <= {None}


def samples(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".json":
        return json.loads(path.read_text()).get("samples") or []
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name.startswith("samples/")]
        return [json.loads(archive.read(name)) for name in names]


def test_inspect_grades_are_read_and_bare_numbers_are_not() -> None:
    files = [*INSPECT.glob("test_logs__*.json"), *INSPECT.glob("*popularity*.eval"), *INSPECT.glob("*dedup*.eval")]
    found: set[float | None] = set()
    for path in files:
        grades = {
            {"C": 1.0, "I": 0.0}.get(score["value"])
            for sample in samples(path)
            for score in (sample.get("scores") or {}).values()
        }
        read = set(rewards(path))
        assert read <= grades | {None}, path
        found |= read
    assert {0.0, 1.0} <= found


def test_a_solved_task_is_one_that_the_recording_calls_solved() -> None:
    """Spending on failures is in the price of a success: the same seconds, over 84 tasks in place of 200."""
    asked = ask([str(TAU)], ReadOptions(), ReplayOptions())
    cost = session_reports(asked, None, 0)[0].cost
    assert (cost.tasks_with_outcome, cost.solved_tasks) == (200, 84)
    total = float(paid_s(asked.replay, asked.workload)[asked.replay.done].sum())
    assert cost.gpu_s_per_solved_task == pytest.approx(total / 84)
    whole = asked.answer.replay.cost
    assert (whole.tasks_with_outcome, whole.solved_tasks) == (200, 84)
    assert whole.solved_task_usd == pytest.approx(cost.usd_per_solved_task)
    assert any("tasks solved, as recorded" in str(block.table.rows) for block in blocks(asked.answer))
    gate = GateConfig(pass_call=0.5, pass_answer=0.9, max_draws=2, give_up=GiveUp.END)
    gated = session_reports(ask([str(TAU)], ReadOptions(), ReplayOptions(gate=gate)), gate, 0)[0].cost
    assert 0 < gated.solved_tasks < 84
