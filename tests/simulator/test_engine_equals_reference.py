"""The event-jump engine against the step-by-step reference on random small workloads."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from hypothesis import HealthCheck, given, settings

from simulator.replay import Replay, run
from tests.simulator.cases import Case, cases
from tests.simulator.reference_client import Client
from tests.simulator.reference_engine import Engine, Seq


def _column(seqs: list[Seq], name: str) -> npt.NDArray[np.float64]:
    return np.array([getattr(seq, name) for seq in seqs], dtype=np.float64)


def _compare(replay: Replay, engine: Engine, seqs: list[Seq]) -> None:
    """Schedule first, then times, then money: the first difference says most."""
    np.testing.assert_array_equal(replay.refused, _column(seqs, "refused"))
    np.testing.assert_array_equal(replay.num_preemptions, _column(seqs, "preemptions"), "preemptions")
    np.testing.assert_array_equal(replay.hit_tokens, _column(seqs, "hit_tokens"), "hit tokens")
    assert replay.n_steps == engine.n_steps
    for name in ("arrival_s", "scheduled_s", "first_token_s", "finish_s"):
        np.testing.assert_allclose(getattr(replay, name), _column(seqs, name), rtol=0, atol=1e-9, err_msg=name)
    assert replay.num_evicted_blocks == engine.pool.evicted
    np.testing.assert_array_equal(replay.by_step.rounds, _column(seqs, "rounds"), "rounds")
    np.testing.assert_array_equal(replay.by_step.draft_tokens, _column(seqs, "draft_tokens"), "draft tokens")
    np.testing.assert_array_equal(replay.by_step.accepted_tokens, _column(seqs, "accepted_tokens"), "accepted")
    np.testing.assert_allclose(replay.by_step.decode_gpu_s, _column(seqs, "decode_gpu_s"), rtol=1e-9, atol=1e-12)
    prefill_gpu_s = replay.prefill_gpu_s + replay.draft_prefill_gpu_s
    np.testing.assert_allclose(prefill_gpu_s, _column(seqs, "prefill_gpu_s"), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(replay.by_step.decode_gpu_s_by_subclass, engine.by_subclass, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(replay.busy_s, engine.busy_s, rtol=1e-9)


def _compare_gaps(replay: Replay, seqs: list[Seq]) -> None:
    """The times between chunks, a recomputation after a preemption included, attempt by attempt."""
    for index, seq in enumerate(seqs):
        gaps = replay.gaps.of(np.arange(len(seqs)) == index)
        wanted = np.sort(np.diff(seq.emitted_s))
        assert replay.gaps.counts[index] == wanted.size
        np.testing.assert_allclose(gaps.expand(), wanted, rtol=0, atol=1e-9)


def _alike(row: npt.NDArray[np.float64], other: tuple[float, ...]) -> bool:
    return bool((np.isnan(other) | (np.abs(row - other) < 1e-9)).all())


def _compare_load(replay: Replay, engine: Engine) -> None:
    """Each row of the load log is a state of the reference, in order; the last one has every block free."""
    rows = np.column_stack(list(replay.load.values()))
    reference = iter(engine.log)
    for row in rows:
        assert any(_alike(row, other) for other in reference), row
    if len(rows):
        assert rows[-1, 3] == 0
        assert len(engine.pool.free) == engine.config.num_gpu_blocks


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cases())
def test_engine_equals_reference(case: Case) -> None:
    replay = run(case.workload, case.config)
    client = Client(case.workload, case.config)
    engine = client.run()
    _compare(replay, engine, client.seqs)
    _compare_gaps(replay, client.seqs)
    _compare_load(replay, engine)
