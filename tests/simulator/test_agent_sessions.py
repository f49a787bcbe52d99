"""Agent sessions on workloads written out by hand: sub-agents, parallel tools, gates, arrivals by the hour."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simulator.arrivals import HOUR_S, profile_starts
from simulator.config import EngineConfig
from simulator.cost import DeclaredCost
from simulator.gate import gated, measured_nu
from simulator.gateconfig import GateConfig, GiveUp, RetryPrompt, parse_gate
from simulator.replay import Replay, ReplayConfig, run
from simulator.sessions import LoadConfig, SessionMode, ToolWaits, turn_waits
from simulator.toolruns import ToolRuns
from simulator.workload import Workload
from tests.simulator.cases import Session, Turn, build, single_turns

STEP_S = 1.0
COST = DeclaredCost(c_T_s=STEP_S, delta=0.0, d=0.0, overhead=0.0, prefill_s_per_token=0.0)


def replayed(workload: Workload, load: LoadConfig | None = None, *, seed: int = 0) -> Replay:
    engine = EngineConfig(
        max_model_len=400, num_gpu_blocks=400, block_size=4, max_num_batched_tokens=400, max_num_seqs=9
    )
    config = ReplayConfig(engine=engine, cost=COST, acceptance=None, load=load or LoadConfig(), seed=seed)
    return run(workload, config)


def turn(length: int, parent: int | None, wait_s: float | None = None, start: int = 0) -> Turn:
    prompt = tuple(range(start, start + 8))
    return Turn(prompt=prompt, outputs=(tuple(range(100, 100 + length)),), parent=parent, wait_s=wait_s)


def delegating(sub_agent_tokens: int, runs: list[float]) -> Workload:
    """A turn that runs tools and starts a sub-agent, and the turn after it."""
    parent = Session(turns=(turn(2, None, max(runs)), turn(2, 0)))
    child = Session(turns=(turn(sub_agent_tokens, None, start=50),), spawned_by=(0, 0))
    workload = build([parent, child], 4)
    tools = ToolRuns(
        ("shell", "delegate"),
        np.array([0] * (len(runs) - 1) + [1], np.int32),
        np.array(runs),
        np.array([0, len(runs), len(runs), len(runs)]),
    )
    return replace(workload, tool_runs=tools)


def test_a_parent_waits_for_its_sub_agent_instead_of_the_recorded_wait() -> None:
    replay = replayed(delegating(30, [3.0, 100.0]))
    assert replay.arrival_s[1] == pytest.approx(replay.session_end_s[1])
    assert replay.arrival_s[1] < replay.finish_s[0] + 100


def test_a_parent_still_waits_for_its_other_tools() -> None:
    replay = replayed(delegating(4, [60.0, 100.0]))
    assert replay.session_end_s[1] < replay.finish_s[0] + 60
    assert replay.arrival_s[1] == pytest.approx(replay.finish_s[0] + 60)


def test_a_detached_sub_agent_holds_nobody_up() -> None:
    replay = replayed(delegating(200, [3.0, 5.0]), LoadConfig(join_sub_agents=False))
    assert replay.arrival_s[1] == pytest.approx(replay.finish_s[0] + 5)


def test_parallel_tools_wait_for_the_slowest() -> None:
    workload = replace(
        build([Session(turns=(turn(2, None, 9.0), turn(2, 0)))], 4),
        tool_runs=ToolRuns(("a",), np.zeros(3, np.int32), np.array([4.0, 9.0, np.nan]), np.array([0, 3, 3])),
    )
    assert turn_waits(workload, LoadConfig()).tolist() == [9.0, 0.0]
    assert turn_waits(workload, LoadConfig(unknown_tool_wait_s=20.0)).tolist() == [20.0, 0.0]
    drawn = turn_waits(workload, LoadConfig(tool_waits=ToolWaits.DRAWN, tool_speedup=2.0), 5)
    assert drawn[0] in (2.0, 4.5)


def test_best_of_n_sends_all_draws_at_once_and_waits_for_the_last() -> None:
    workload = build([Session(turns=(turn(5, None, 2.0), turn(2, 0)))], 4)
    workload = gated(workload, GateConfig(pass_call=0.5, pass_answer=0.5, parallel_draws=3, gate_s=1.5), 0)
    replay = replayed(workload)
    assert np.diff(workload.turn_attempts).tolist() == [3, 3]
    assert set(replay.arrival_s[:3].tolist()) == {0.0}
    assert replay.arrival_s[3] == pytest.approx(replay.finish_s[:3].max() + 1.5 + 2.0)
    assert (~workload.attempt_rejected[:3]).sum() == 1


def test_an_appended_error_lengthens_the_prompt_of_the_next_draw() -> None:
    workload = build([Session(turns=(turn(6, None),))], 4)
    gate = GateConfig(pass_answer=1e-9, max_draws=3, prompt=RetryPrompt.APPENDED, error_tokens=10)
    replay = replayed(gated(workload, gate, 0))
    assert replay.prompt_tokens.tolist() == [8, 8 + 16, 8 + 32]
    same = replayed(gated(workload, replace(gate, prompt=RetryPrompt.SAME), 0))
    assert same.prompt_tokens.tolist() == [8, 8, 8]


def test_giving_up_takes_the_last_draw_or_fails_the_turn() -> None:
    workload = single_turns([8] * 50, [4] * 50)
    gate = GateConfig(pass_answer=0.3, max_draws=2)
    taken, failed = gated(workload, gate, 0), gated(workload, replace(gate, give_up=GiveUp.FAIL), 0)
    assert taken.draws is not None
    lost = int(taken.draws.given_up.sum())
    assert 15 <= lost <= 35
    assert (~taken.attempt_rejected).sum() == 50
    assert (~failed.attempt_rejected).sum() == 50 - lost


def test_nu_is_one_over_the_pass_probability_and_its_interval_covers_it() -> None:
    covered = 0
    for seed in range(20):
        workload = gated(single_turns([8] * 400, [1] * 400), GateConfig(pass_answer=0.8), seed)
        value, low, high = measured_nu(workload, np.ones(workload.n_attempts, np.bool_), 0)
        assert value == workload.n_attempts / 400
        assert value == pytest.approx(1.25, abs=0.12)
        covered += low < 1.25 < high
    assert covered >= 16
    calling = replace(single_turns([8] * 500, [1] * 500), turn_has_tools=np.arange(500) < 250)
    kinds = gated(calling, GateConfig(pass_call=0.5, pass_answer=1.0), 0)
    assert (np.diff(kinds.turn_attempts)[250:] == 1).all()
    assert np.diff(kinds.turn_attempts)[:250].mean() == pytest.approx(2.0, rel=0.2)


def test_gates_are_written_in_one_line() -> None:
    gate = parse_gate("call=0.9,answer=0.95,draws=3,prompt=error,error-tokens=40,give-up=fail,ms=50,gpu-ms=5")
    assert gate == GateConfig(
        pass_call=0.9, pass_answer=0.95, max_draws=3, prompt=RetryPrompt.APPENDED, error_tokens=40,
        give_up=GiveUp.FAIL, gate_s=0.05, gate_gpu_s=0.005,
    )  # fmt: skip
    for text in (
        "call=2", "calls=0.5", "call", "draws=0", "best-of=2,draws=3", "call=0", "schema=0", "gpu-ms:tests=5",
        "answer:x=1", "schema=0.5,schema:call=0.6", "give-up=stop",
    ):  # fmt: skip
        with pytest.raises(ValueError, match="--gate"):
            parse_gate(text)


def calling(*tools: tuple[int, ...]) -> Workload:
    """Single turns that call tools a, b and c by number; none: an answer."""
    flat = [tool for called in tools for tool in called]
    runs = ToolRuns(
        ("a", "b", "c"),
        np.array(flat, np.int32),
        np.ones(len(flat)),
        np.cumsum([0, *map(len, tools)]),
    )
    return replace(
        single_turns([8] * len(tools), [1] * len(tools)),
        turn_has_tools=np.array([bool(called) for called in tools]),
        tool_runs=runs,
    )


def test_pass_probabilities_by_tool_stand_for_that_of_calls() -> None:
    kinds = [(0,), (1,), (0, 0), (0, 1), (0, 2), (2,), ()]
    count = 4000
    workload = calling(*(kind for kind in kinds for _ in range(count)))
    gate = parse_gate("call=0.9,call:a=0.6,call:b=0.5,answer=0.8")
    drawn = np.diff(gated(workload, gate, 0).turn_attempts).reshape(len(kinds), count)
    expected = [0.6, 0.5, 0.6, 0.6 * 0.5, 0.6 * 0.9, 0.9, 0.8]
    np.testing.assert_allclose(1 / drawn.mean(axis=1), expected, rtol=0.05)
    with pytest.raises(ValueError, match="no turn calls 'bash'; this recording's tools: a, b, c"):
        gated(workload, parse_gate("call:bash=0.5"), 0)


def test_a_draw_pays_for_the_checks_that_it_reaches() -> None:
    workload = calling(*((0,) for _ in range(4000)), *(() for _ in range(1000)))
    text = "schema=0.8,tests:a=0.5,judge=0.9,draws=1,ms:schema=10,ms:tests=1000,gpu-ms:judge=300,gpu-ms=1"
    plan = gated(workload, parse_gate(text), 0).draws
    assert plan is not None
    seconds = dict(zip(*np.unique(np.round(plan.gate_s, 9), return_counts=True), strict=True))
    assert set(seconds) == {0.01, 1.01, 0.0}
    assert seconds[1.01] == pytest.approx(0.8 * 4000, rel=0.05)
    np.testing.assert_allclose(plan.gate_gpu_s, np.repeat([0.001, 0.301], [4000, 1000]))
    shares = np.bincount(plan.rejected_by[:4000] + 1, minlength=5) / 4000
    np.testing.assert_allclose(shares, [0.4, 0, 0.2, 0.4, 0], atol=0.03)


def test_giving_up_can_end_the_session() -> None:
    parent = Session(turns=(turn(2, None, 5.0), turn(2, 0, 5.0), turn(2, 1)))
    child = Session(turns=(turn(3, None, start=50),), spawned_by=(0, 1))
    workload = build([parent, child, Session(turns=(turn(2, None, start=90),))], 4)
    gate = GateConfig(max_draws=2, pass_answer=0.3, pass_call=0.3, give_up=GiveUp.END)
    seed = next(
        seed
        for seed in range(200)
        if (plan := gated(workload, gate, seed).draws) is not None
        and plan.given_up.tolist() == [False, True, False, False, False]
    )
    work = gated(workload, gate, seed)
    replay = replayed(work, LoadConfig(max_concurrency=1))
    first = work.turn_attempts[:-1]
    assert replay.abandoned[first].tolist() == [False, False, True, True, False]
    assert replay.session_end_s[0] == pytest.approx(replay.finish_s[first[2] - 1])
    assert np.isnan(replay.session_start_s[1])
    assert replay.arrival_s[first[4]] == pytest.approx(replay.session_end_s[0])


def test_arrivals_follow_the_hours() -> None:
    rates = (2.0, 0.0, 1.0)
    starts = profile_starts(30_000, rates, 1.0, 0)
    hour = (starts // HOUR_S).astype(int)
    counts = np.bincount(hour, minlength=6)[:6]
    assert counts[1] == counts[4] == 0
    for at, rate in ((0, 2.0), (2, 1.0), (3, 2.0), (5, 1.0)):
        assert counts[at] == pytest.approx(rate * HOUR_S, abs=4 * np.sqrt(rate * HOUR_S))
    within = starts[hour == 0] % HOUR_S / HOUR_S
    assert abs(within.mean() - 0.5) < 0.02
    constant = profile_starts(20_000, (3.0,), 1.0, 1)
    assert np.diff(constant).mean() == pytest.approx(1 / 3, rel=0.03)


def test_a_profile_replays_sessions_at_its_rate_of_requests() -> None:
    workload = single_turns([8] * 400, [2] * 400)
    load = LoadConfig(mode=SessionMode.PROFILE, hourly_rates_per_s=(0.05, 0.0))
    replay = replayed(workload, load)
    assert (replay.arrival_s % (2 * HOUR_S) < HOUR_S).all()
    with pytest.raises(ValueError, match="arrival-profile"):
        LoadConfig(mode=SessionMode.PROFILE)
