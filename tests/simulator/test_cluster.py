"""Several replicas: conservation over all of them, what routing may change, prefill and decode apart."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from simulator import backlog, engine, gaps, ledger, longcolumns, metrics
from simulator.cluster import ClusterConfig
from simulator.config import EngineConfig
from simulator.cost import DeclaredCost
from simulator.replay import Replay, ReplayConfig, run
from simulator.router import router_names
from simulator.sessions import LoadConfig, SessionMode
from tests.simulator.cases import Case, Session, Turn, build, cases, single_turns

examples = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def clusters(draw: st.DrawFn) -> ClusterConfig:
    count = draw(st.integers(1, 4))
    return ClusterConfig(
        num_replicas=count,
        router=draw(st.sampled_from(router_names())),
        num_prefill_replicas=draw(st.integers(0, count - 1)),
        kv_transfer_s_per_token=draw(st.sampled_from([0.0, 0.5, 2.0])) / 64,
        host_blocks=draw(st.sampled_from([0, 0, 1, 5, 100])),
        host_load_s_per_block=draw(st.sampled_from([0.0, 0.5])) / 64,
    )


def _on(case: Case, cluster: ClusterConfig) -> Replay:
    return run(case.workload, dataclasses.replace(case.config, cluster=cluster))


@examples
@given(cases(), clusters())
def test_requests_tokens_and_seconds_are_conserved_over_all_replicas(case: Case, cluster: ClusterConfig) -> None:
    replay = _on(case, cluster)
    counts = metrics.conservation(replay, case.workload)
    assert counts["requests_injected"] == counts["requests_completed"] + counts["requests_refused"]
    assert counts["requests_unfinished"] == 0
    assert counts["attributed_s"] == pytest.approx(counts["busy_s"], rel=1e-9, abs=1e-12)
    step = replay.by_step
    by_prefill = (replay.output_tokens - step.rounds - step.accepted_tokens)[replay.done]
    assert (by_prefill >= 1).all()
    assert (by_prefill <= 1 + replay.num_preemptions[replay.done]).all()
    assert step.emitted_by_subclass.sum() == (step.rounds + step.accepted_tokens).sum()
    parts = metrics.latencies(replay)
    np.testing.assert_allclose(
        parts["queue_s"] + parts["prefill_s"] + parts["decode_s"], parts["e2el_s"], rtol=1e-9, atol=1e-9
    )
    assert all((np.nan_to_num(parts[name]) >= 0).all() for name in ("queue_s", "prefill_s", "decode_s"))
    assert (replay.hit_tokens >= 0).all()
    assert (replay.hit_tokens < np.maximum(replay.prompt_tokens, 1)).all()


@examples
@given(cases(), clusters())
def test_the_parts_of_a_cluster_add_up(case: Case, cluster: ClusterConfig) -> None:
    replay = _on(case, cluster)
    assert len(replay.replicas) == cluster.num_replicas
    assert replay.busy_s == pytest.approx(sum(log.busy_s for log in replay.replicas))
    for log in replay.replicas:
        spans = log.work["end_s"] - log.work["start_s"]
        assert spans.sum() == pytest.approx(log.busy_s, rel=1e-9, abs=1e-9)
        assert log.work["n_steps"].sum() == log.n_steps
        assert (log.work["start_s"][1:] >= log.work["end_s"][:-1]).all()
        assert (log.load["used_blocks"] <= case.config.engine.num_gpu_blocks).all()
        assert not log.load["used_blocks"].size or log.load["used_blocks"][-1] == 0
    for name, column in replay.load.items():
        assert (column >= 0).all(), name
        ends = sum(log.load[name][-1] for log in replay.replicas if log.load[name].size)
        assert name == "time_s" or not column.size or column[-1] == ends
    split = cluster.num_prefill_replicas
    if split:
        assert not replay.done.any() or (replay.replica[replay.done] < split).all()
        assert (replay.decode_replica[replay.done] >= split).all()
    else:
        np.testing.assert_array_equal(replay.replica, replay.decode_replica)


@examples
@given(cases(), clusters())
def test_gaps_of_an_attempt_add_up_to_its_decoding_time(case: Case, cluster: ClusterConfig) -> None:
    """On any replica and with any preemptions, and there is one gap for each emission after the first."""
    replay = _on(case, cluster)
    counts = replay.gaps.counts
    for attempt in np.flatnonzero(replay.done):
        gaps = replay.gaps.of(np.arange(counts.size) == attempt)
        assert gaps.size == counts[attempt]
        decode_s = replay.finish_s[attempt] - replay.first_token_s[attempt]
        assert float(gaps.values @ gaps.counts) == pytest.approx(decode_s, rel=1e-9, abs=1e-9)
    tokens = counts + replay.by_step.accepted_tokens
    np.testing.assert_array_equal(tokens[replay.done], replay.output_tokens[replay.done] - 1)


def _same_bytes(first: Replay, second: Replay) -> None:
    for field in dataclasses.fields(Replay):
        a, b = getattr(first, field.name), getattr(second, field.name)
        if isinstance(a, np.ndarray):
            assert a.tobytes() == b.tobytes(), field.name
    for item in dataclasses.fields(first.by_step):
        assert getattr(first.by_step, item.name).tobytes() == getattr(second.by_step, item.name).tobytes(), item.name


@settings(examples, max_examples=25)
@given(cases(), clusters())
def test_columns_in_files_and_queues_as_numbers_change_nothing(case: Case, cluster: ClusterConfig) -> None:
    whole = _on(case, cluster)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(longcolumns, "IN_MEMORY_BYTES", 64)
        patch.setattr(backlog, "OBJECTS", 2)
        patch.setattr(gaps, "PART", 16)
        patch.setattr(ledger, "_HELD_ROWS", 20)
        patch.setattr(ledger, "_HELD_FIGURES", 20)
        pieces = _on(case, cluster)
        chosen = ~np.isnan(pieces.finish_s)
        _same_bytes(whole, pieces)
        assert np.array_equal(pieces.gaps.of(chosen).expand(), whole.gaps.of(chosen).expand())


@examples
@given(cases(), clusters())
def test_the_same_seed_gives_the_same_bytes(case: Case, cluster: ClusterConfig) -> None:
    _same_bytes(_on(case, cluster), _on(case, cluster))


@examples
@given(cases(), clusters(), st.integers(1, 5))
def test_the_length_of_a_jump_changes_no_route(case: Case, cluster: ClusterConfig, size: int) -> None:
    assume(isinstance(case.config.cost, DeclaredCost))  # sums exact in binary: events coincide or do not
    whole = _on(case, cluster)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "MAX_JUMP_STEPS", size)
        short = _on(case, cluster)
    np.testing.assert_array_equal(whole.decode_replica, short.decode_replica)
    np.testing.assert_array_equal(whole.finish_s, short.finish_s)
    np.testing.assert_array_equal(whole.hit_tokens, short.hit_tokens)


def _recorded(engine_config: EngineConfig, cluster: ClusterConfig) -> ReplayConfig:
    return ReplayConfig(
        engine=engine_config,
        cost=DeclaredCost(c_T_s=0.02, prefill_s_per_token=3e-4),
        acceptance=None,
        load=LoadConfig(mode=SessionMode.RECORDED),
        cluster=cluster,
    )


SMALL = EngineConfig(max_model_len=200, num_gpu_blocks=40, block_size=16, max_num_batched_tokens=64, max_num_seqs=4)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 4), st.lists(st.tuples(st.integers(1, 120), st.integers(1, 60)), min_size=1, max_size=24))
def test_round_robin_is_so_many_replicas_apart(count: int, sizes: list[tuple[int, int]]) -> None:
    """Requests at fixed times: replica r of N serves exactly what one replica does that gets each N-th."""
    prompts, outputs = ([size[i] for size in sizes] for i in (0, 1))
    starts = [0.05 * i for i in range(len(sizes))]
    together = run(
        single_turns(prompts, outputs, start_s=starts),
        _recorded(SMALL, ClusterConfig(num_replicas=count, router="round-robin")),
    )
    for first in range(min(count, len(sizes))):
        mine = slice(first, None, count)
        alone = run(single_turns(prompts[mine], outputs[mine], start_s=starts[mine]), _recorded(SMALL, ClusterConfig()))
        shift_s = starts[first]
        np.testing.assert_allclose(together.finish_s[mine] - shift_s, alone.finish_s, rtol=0, atol=1e-9)
        np.testing.assert_allclose(together.by_step.decode_gpu_s[mine], alone.by_step.decode_gpu_s, rtol=1e-9)
        assert together.replicas[first].n_steps == alone.n_steps
        assert together.replicas[first].busy_s == pytest.approx(alone.busy_s, rel=1e-9)


def _agents(count: int, turns: int) -> list[Session]:
    """Sessions that each go on from all that they said before, begun at intervals."""
    sessions = []
    for number in range(count):
        text: tuple[int, ...] = tuple(range(10_000 * number, 10_000 * number + 64))
        steps = []
        for turn in range(turns):
            output = tuple(range(10_000 * number + 5000 + 40 * turn, 10_000 * number + 5000 + 40 * turn + 20))
            steps.append(Turn(prompt=text, outputs=(output,), parent=turn - 1 if turn else None, wait_s=0.1))
            text = (*text, *output, *range(10_000 * number + 8000 + 20 * turn, 10_000 * number + 8000 + 20 * turn + 12))
        sessions.append(Session(turns=tuple(steps), start_s=0.03 * number))
    return sessions


def _agent_replay(policy: str) -> Replay:
    roomy = EngineConfig(max_model_len=2000, num_gpu_blocks=4000, block_size=4, max_num_seqs=16)
    work = build(_agents(9, 6), 4)
    return run(work, _recorded(roomy, ClusterConfig(num_replicas=4, router=policy)))


def test_affinity_keeps_sessions_together_and_finds_their_prefixes() -> None:
    replay = _agent_replay("session-affinity")
    homes = replay.replica.reshape(9, 6)
    assert (homes == homes[:, :1]).all()
    assert np.unique(homes).size == 4
    hits = {policy: metrics.hit_rates(_agent_replay(policy))[0] for policy in router_names()}
    ideal = hits["session-affinity"]
    assert ideal > 0.5
    assert hits["prefix-aware"] == pytest.approx(ideal, abs=0.02)
    assert hits["round-robin"] < ideal / 2


def test_prefill_apart_sends_the_kv_and_computes_one_token_on_the_other_side() -> None:
    prompt, output, c_T_s, token_s, send_s = 100, 5, 0.02, 3e-4, 1e-3
    cluster = ClusterConfig(num_replicas=2, num_prefill_replicas=1, kv_transfer_s_per_token=send_s)
    replay = run(single_turns([prompt], [output]), _recorded(SMALL, cluster))
    assert replay.scheduled_s[0] == 0
    assert replay.kv_transfer_s[0] == pytest.approx(prompt * send_s)
    assert replay.first_token_s[0] == pytest.approx(prompt * token_s + prompt * send_s + token_s)
    assert replay.finish_s[0] - replay.first_token_s[0] == pytest.approx((output - 1) * c_T_s)
    assert replay.replicas[0].busy_s == pytest.approx(prompt * token_s)
    assert replay.replicas[1].busy_s == pytest.approx(token_s + (output - 1) * c_T_s)
    assert replay.prefill_gpu_s[0] == pytest.approx((prompt + 1) * token_s)
    assert not replay.replicas[0].work["decoding_seqs"].any()


def test_blocks_that_the_decode_replica_has_are_not_sent_again() -> None:
    sessions = [Session(turns=(Turn(prompt=(*range(64), 500 + i), outputs=((9,) * 3,), parent=None),)) for i in (0, 1)]
    sessions[1] = dataclasses.replace(sessions[1], start_s=10.0)
    cluster = ClusterConfig(num_replicas=2, num_prefill_replicas=1, kv_transfer_s_per_token=1e-3)
    replay = run(build(sessions, 16), _recorded(SMALL, cluster))
    np.testing.assert_allclose(replay.kv_transfer_s, [65e-3, 1e-3])
    np.testing.assert_array_equal(replay.hit_tokens, [0, 64])


@pytest.mark.parametrize(
    ("values", "needed"),
    [
        ({"num_replicas": 0}, "--replicas is 0"),
        ({"num_replicas": 2, "num_prefill_replicas": 2}, "below --replicas \\(2\\)"),
        ({"host_blocks": -1}, "host_blocks is -1"),
    ],
)
def test_a_cluster_that_cannot_be_is_refused(values: dict[str, int], needed: str) -> None:
    with pytest.raises(ValueError, match=needed):
        ClusterConfig(**values)
