"""The invariants of docs/invariants.md, by number, over random small replays."""

from __future__ import annotations

import ast
import dataclasses
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import simulator.scheduler
from simulator import attribution, engine, metrics, outcomes
from simulator.config import EngineConfig
from simulator.engine import Replica, Request
from simulator.replay import Replay, ReplayConfig, run
from simulator.scheduler import Sequence
from simulator.sessions import LoadConfig, SessionMode, turn_waits
from simulator.workload import NO_PARENT, Workload
from tests.simulator.cases import Case, Coin, Session, build, cases, roofline, session_lists, single_turns

examples = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
EXACT = {"rtol": 1e-9, "atol": 1e-9}


@examples
@given(cases())
def test_inv_1_requests_are_conserved(case: Case) -> None:
    replay = run(case.workload, case.config)
    counts = metrics.conservation(replay, case.workload)
    assert counts["requests_injected"] == counts["requests_completed"] + counts["requests_refused"]
    assert not np.isnan(replay.finish_s).any()
    unfit = replay.prompt_tokens >= case.config.engine.max_model_len
    np.testing.assert_array_equal(replay.refused, unfit)


@examples
@given(cases())
def test_inv_2_tokens_are_conserved(case: Case) -> None:
    replay = run(case.workload, case.config)
    step = replay.by_step
    room = case.config.engine.max_model_len - replay.prompt_tokens
    expected = np.minimum(case.workload.output_tokens, room)[replay.done]
    np.testing.assert_array_equal(replay.output_tokens[replay.done], expected)
    in_rounds = (step.rounds + step.accepted_tokens)[replay.done]
    by_prefill = replay.output_tokens[replay.done] - in_rounds
    assert (by_prefill >= 1).all()
    assert (by_prefill <= 1 + replay.num_preemptions[replay.done]).all()
    assert step.emitted_by_subclass.sum() == in_rounds.sum()
    assert step.accepted_by_subclass.sum() == step.accepted_tokens.sum() == step.accepted_per_pos.sum()
    labels = np.bincount(replay.labels, minlength=8)
    assert (step.emitted_by_subclass <= labels).all()


@examples
@given(cases())
def test_inv_3_kv_blocks_are_conserved(case: Case) -> None:
    replay = run(case.workload, case.config)
    used = replay.load["used_blocks"]
    assert (used >= 0).all()
    assert (used <= case.config.engine.num_gpu_blocks).all()
    assert not used.size or used[-1] == 0


@examples
@given(cases())
def test_inv_4_latency_is_queue_and_prefill_and_decode(case: Case) -> None:
    parts = metrics.latencies(run(case.workload, case.config))
    sums = parts["queue_s"] + parts["prefill_s"] + parts["decode_s"]
    np.testing.assert_allclose(sums, parts["e2el_s"], **EXACT)
    for name in ("queue_s", "prefill_s", "decode_s"):
        assert (np.nan_to_num(parts[name]) >= 0).all(), name


@examples
@given(cases())
def test_inv_5_gpu_seconds_are_conserved(case: Case) -> None:
    replay = run(case.workload, case.config)
    counts = metrics.conservation(replay, case.workload)
    assert counts["attributed_s"] == pytest.approx(counts["busy_s"], rel=1e-9, abs=1e-12)
    by_class = replay.by_step.decode_gpu_s_by_subclass.sum()
    assert by_class == pytest.approx(replay.by_step.decode_gpu_s.sum(), rel=1e-9, abs=1e-12)
    assert replay.busy_s <= replay.duration_s * (1 + 1e-9) + 1e-9


@examples
@given(cases())
def test_inv_6_causes_come_first(case: Case) -> None:
    replay = run(case.workload, case.config)
    done = replay.done
    times = [getattr(replay, name)[done] for name in ("arrival_s", "scheduled_s", "first_token_s", "finish_s")]
    for before, after in pairwise(times):
        assert (before <= after).all()
    assert (np.diff(replay.load["time_s"]) >= 0).all()


def _same(first: Replay, second: Replay, *, rtol: float = 0.0) -> None:
    for field in dataclasses.fields(Replay):
        a, b = getattr(first, field.name), getattr(second, field.name)
        if isinstance(a, np.ndarray):
            assert a.tobytes() == b.tobytes(), field.name
        elif isinstance(a, float | int):
            assert a == b, field.name
    for item in dataclasses.fields(first.by_step):
        a, b = getattr(first.by_step, item.name), getattr(second.by_step, item.name)
        np.testing.assert_allclose(a, b, rtol=rtol, err_msg=item.name)


@examples
@given(cases())
def test_inv_7_the_same_seed_gives_the_same_bytes(case: Case) -> None:
    _same(run(case.workload, case.config), run(case.workload, case.config))


_IN_A_PROCESS = """
import numpy as np
from simulator.config import EngineConfig, SpeculativeMethod
from simulator.replay import ReplayConfig, run
from tests.simulator.cases import Coin, roofline, single_turns
engine = EngineConfig(num_speculative_tokens=4, speculative_method=SpeculativeMethod.DRAFT_MODEL)
replay = run(single_turns([9, 40, 3], [30, 8, 70]), ReplayConfig(engine=engine, cost=roofline(4), acceptance=Coin(.6)))
print(replay.finish_s.tobytes().hex(), replay.gaps.of(replay.done).expand().tobytes().hex())
"""


def test_inv_7_no_process_changes_the_bytes() -> None:
    root = Path(__file__).resolve().parents[2]
    outputs = set()
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(root)}
        command = [sys.executable, "-c", _IN_A_PROCESS]
        outputs.add(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)  # noqa: S603
    assert len(outputs) == 1


@examples
@given(cases(), st.integers(1, 5))
def test_inv_7_no_chunk_size_changes_the_outcome(case: Case, size: int) -> None:
    whole = run(case.workload, case.config)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(outcomes, "DRAW_TOKENS", size)
        patch.setattr(outcomes, "CHUNK_ROUNDS", size)
        patch.setattr(outcomes, "CACHED_CHUNKS", 1)
        patch.setattr(attribution, "CHUNK_ROUNDS", size)
        parts = run(case.workload, case.config)
    _same(whole, parts, rtol=1e-12)


@examples
@given(cases(), st.integers(1, 5))
def test_inv_7_the_length_of_a_jump_changes_no_time(case: Case, size: int) -> None:
    whole = run(case.workload, case.config)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "MAX_JUMP_STEPS", size)
        short = run(case.workload, case.config)
    assert whole.n_steps == short.n_steps
    np.testing.assert_allclose(whole.finish_s, short.finish_s, **EXACT)
    np.testing.assert_array_equal(whole.hit_tokens, short.hit_tokens)


def _by_name(workload: Workload, values: np.ndarray[Any, np.dtype[Any]], names: list[int]) -> dict[Any, Any]:
    session = workload.turn_session[workload.attempt_turn]
    first = workload.turn_attempts[workload.session_turns[session]]
    attempts = np.arange(workload.n_attempts) - first
    return {(names[s], a): value for s, a, value in zip(session, attempts, values, strict=True)}


@examples
@given(session_lists(exact_times=False), st.data())
def test_inv_7_the_order_of_sessions_changes_nothing(sessions: list[Session], data: st.DataObject) -> None:
    sessions = [dataclasses.replace(s, spawned_by=None, start_s=0.0123 * i) for i, s in enumerate(sessions)]
    order = data.draw(st.permutations(range(len(sessions))))
    config = ReplayConfig(
        engine=EngineConfig(
            max_model_len=80, num_gpu_blocks=50, block_size=4, max_num_batched_tokens=24, max_num_seqs=4
        ),
        cost=roofline(0),
        acceptance=None,
        load=LoadConfig(mode=SessionMode.RECORDED),
    )
    straight = build(sessions, 4)
    shuffled = build([sessions[i] for i in order], 4)
    finish_s = [
        _by_name(work, run(work, config).finish_s, names)
        for work, names in ((straight, list(range(len(sessions)))), (shuffled, list(order)))
    ]
    assert finish_s[0].keys() == finish_s[1].keys()
    for name, time_s in finish_s[0].items():
        assert time_s == pytest.approx(finish_s[1][name], abs=1e-9), name


def _names_in(tree: ast.AST) -> Counter[str]:
    names = Counter(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
    names.update(node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    names.update(node.arg for node in ast.walk(tree) if isinstance(node, ast.arg))
    return names


@pytest.mark.parametrize("module", ["scheduler", "kvcache", "backlog"])
def test_inv_8_scheduler_and_cache_have_no_access_to_outputs(module: str) -> None:
    tree = ast.parse((Path(simulator.scheduler.__file__).parent / f"{module}.py").read_text(encoding="utf-8"))
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    imported |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    ours = {name for name in imported if name and name.startswith("simulator")}
    parts = ("scheduler", "backlog", "config", "kvcache", "lazyzeros")
    assert ours <= {f"simulator.{part}" for part in parts}
    oracle = {"rounds", "outcomes", "labels", "offsets", "emitted", "output_tokens", "lengths", "finish_s", "workload"}
    assert not oracle & set(_names_in(tree))
    assert not {"getattr", "vars", "eval", "exec"} & set(_names_in(tree))


def test_inv_8_a_sequence_knows_nothing_of_its_end() -> None:
    names = {field.name for field in dataclasses.fields(Sequence)}
    known = {"id", "prompt_tokens", "table", "generated_tokens", "computed_tokens", "hit_tokens", "num_preemptions"}
    assert names <= known | {"order"}


@examples
@given(cases(), st.data())
def test_inv_8_longer_outputs_change_nothing_before_the_shorter_ends(case: Case, data: st.DataObject) -> None:
    work = case.workload
    which = data.draw(st.integers(0, work.n_attempts - 1))
    length = int(work.turn_prompt_tokens[work.attempt_turn[which]] + work.output_tokens[which])
    assume(length + 5 <= case.config.engine.max_model_len)
    at = int(work.offsets[which + 1])
    offsets = work.offsets.copy()
    offsets[which + 1 :] += 5
    longer = dataclasses.replace(work, labels=np.insert(work.labels, at, np.full(5, 7, np.uint8)), offsets=offsets)
    short, long = run(work, case.config), run(longer, case.config)
    end_s = short.finish_s[which] - 1e-9
    for name in ("arrival_s", "scheduled_s", "first_token_s", "finish_s"):
        before = getattr(short, name)
        seen = before < end_s
        np.testing.assert_allclose(getattr(long, name)[seen], before[seen], err_msg=name, **EXACT)


def _covered_s(starts: np.ndarray[Any, Any], ends: np.ndarray[Any, Any]) -> float:
    """Length of the union of the intervals."""
    total, reach = 0.0, -np.inf
    for start, end in sorted(zip(starts.tolist(), ends.tolist(), strict=True)):
        total += max(0.0, end - max(start, reach))
        reach = max(reach, end)
    return total


@examples
@given(cases())
def test_inv_9_an_engine_with_work_is_never_idle(case: Case) -> None:
    replay = run(case.workload, case.config)
    assert _covered_s(replay.arrival_s, replay.finish_s) == pytest.approx(replay.busy_s, rel=1e-9, abs=1e-9)


@examples
@given(cases())
def test_inv_10_every_step_computes_something(case: Case) -> None:
    replay = run(case.workload, case.config)
    draws = (replay.num_preemptions + 1) * (replay.prompt_tokens + replay.output_tokens)
    assert replay.n_steps <= draws[replay.done].sum()


@examples
@given(cases())
def test_inv_11_turns_wait_for_what_they_follow(case: Case) -> None:
    work, load = case.workload, case.config.load
    replay = run(work, case.config)
    first = work.turn_attempts[:-1]
    sent_s, over_s = replay.arrival_s[first], replay.finish_s[work.turn_attempts[1:] - 1]
    waits = turn_waits(work, load)
    for turn, parent in enumerate(work.turn_parent):
        if parent != NO_PARENT:
            joined = replay.session_end_s[work.session_parent == parent] if load.join_sub_agents else []
            ready_s = max([over_s[parent] + waits[parent], *joined])
            assert sent_s[turn] == pytest.approx(ready_s, abs=1e-9)
    for session, parent in enumerate(work.session_parent):
        if parent != NO_PARENT:
            assert replay.session_start_s[session] == pytest.approx(over_s[parent], abs=1e-9)
    again = np.setdiff1d(np.arange(work.n_attempts), first)
    np.testing.assert_allclose(replay.arrival_s[again], replay.finish_s[again - 1], **EXACT)
    if load.mode is SessionMode.CLOSED:
        roots = work.session_parent == NO_PARENT
        starts, ends = replay.session_start_s[roots], replay.session_end_s[roots]
        active = [int(((starts <= t) & (ends > t + 1e-9)).sum()) for t in starts]
        assert max(active) <= load.max_concurrency


def _counting(count: Counter[int]) -> Callable[[Replica, Request], None]:
    original = Replica.submit

    def submit(replica: Replica, request: Request) -> None:
        count[request.id] += 1
        original(replica, request)

    return submit


@examples
@given(cases())
def test_inv_12_every_turn_is_sent_once(case: Case) -> None:
    count: Counter[int] = Counter()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Replica, "submit", _counting(count))
        replay = run(case.workload, case.config)
    assert set(count.values()) <= {1}
    firsts = set(case.workload.turn_attempts[:-1].tolist())
    not_tried = {a for a in np.flatnonzero(replay.refused).tolist() if a not in firsts}
    assert set(count) == set(range(case.workload.n_attempts)) - not_tried


def test_inv_12_long_chains_of_refused_turns_end() -> None:
    count = 3000
    chain = single_turns([50] * count, [1] * count)
    sessions = np.array([0, count])
    chain = dataclasses.replace(
        chain,
        session_ids=("s",),
        session_start_s=np.zeros(1),
        session_parent=np.full(1, NO_PARENT, np.int32),
        session_turns=sessions,
        turn_parent=np.arange(-1, count - 1, dtype=np.int32),
        turn_ids=tuple(map(str, range(count))),
    )
    config = ReplayConfig(engine=EngineConfig(max_model_len=40), cost=roofline(0), acceptance=None)
    assert run(chain, config).refused.all()
    assert run(single_turns([50] * count, [1] * count), config).refused.all()


def test_inv_12_sessions_without_turns_hold_no_place() -> None:
    work = single_turns([5, 5], [3, 3])
    empty = dataclasses.replace(
        work,
        session_ids=("a", "b", "c", "d"),
        session_start_s=np.zeros(4),
        session_parent=np.full(4, NO_PARENT, np.int32),
        session_turns=np.array([0, 0, 1, 1, 2]),
    )
    config = ReplayConfig(engine=EngineConfig(), cost=roofline(0), acceptance=None, load=LoadConfig(max_concurrency=1))
    assert run(empty, config).done.all()


@examples
@given(cases(), st.integers(0, 8))
def test_inv_13_speculation_changes_no_output(case: Case, gamma: int) -> None:
    spec = dataclasses.replace(case.config.engine, num_speculative_tokens=gamma, max_num_batched_tokens=200)
    config = dataclasses.replace(case.config, engine=spec, acceptance=Coin(0.5) if gamma else None)
    first, second = run(case.workload, case.config), run(case.workload, config)
    np.testing.assert_array_equal(first.output_tokens, second.output_tokens)
    np.testing.assert_array_equal(first.done, second.done)
