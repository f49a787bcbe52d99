"""Metrics against their definitions worked out request by request, as a serving benchmark's client would."""

from __future__ import annotations

import statistics
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simulator.config import EngineConfig, SpeculativeMethod
from simulator.cost import DeclaredCost
from simulator.goodput import GoodputResult, Slo, goodput, parse_goodput, slo_values
from simulator.metrics import describe, gaps_of, itl_per_token, latencies
from simulator.replay import Replay, ReplayConfig, run
from simulator.replicalog import merged_load, time_weighted
from simulator.sessions import LoadConfig, SessionMode
from simulator.sessiontime import session_times
from simulator.slo import SloMetric
from simulator.window import Cut, window
from simulator.workload import Workload
from tests.simulator.cases import Case, Coin, Session, Turn, build, cases, single_turns

C_T_S, PREFILL_S = 0.02, 1e-3
examples = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def _config(gamma: int = 0, *, load: LoadConfig | None = None, max_model_len: int = 4000) -> ReplayConfig:
    engine = EngineConfig(
        max_model_len=max_model_len,
        num_gpu_blocks=10_000,
        num_speculative_tokens=gamma,
        speculative_method=SpeculativeMethod.MODEL_FREE if gamma else SpeculativeMethod.NONE,
    )
    cost = DeclaredCost(c_T_s=C_T_S, prefill_s_per_token=PREFILL_S)
    return ReplayConfig(
        engine=engine, cost=cost, acceptance=Coin(1.0) if gamma else None, load=load or LoadConfig(max_concurrency=1)
    )


def _one_after_the_other(outputs: list[int], gamma: int = 0) -> tuple[Replay, Workload]:
    work = single_turns([100] * len(outputs), outputs)
    return run(work, _config(gamma)), work


def test_one_request_by_hand() -> None:
    """100 prompt tokens, 9 output tokens: the first with prefill, eight more in steps of 20 ms."""
    replay, _ = _one_after_the_other([9])
    times = {name: float(values[0]) for name, values in latencies(replay).items()}
    assert times["ttft_s"] == pytest.approx(0.1)
    assert times["tpot_s"] == pytest.approx(0.02)
    assert times["e2el_s"] == pytest.approx(0.1 + 8 * 0.02)
    np.testing.assert_allclose(replay.gaps.of(replay.done).expand(), [0.02] * 8)


def test_speculation_lowers_tpot_and_raises_the_gap_between_chunks() -> None:
    """Four drafts, all accepted: two rounds of five tokens, each a chunk of 20 ms."""
    replay, _ = _one_after_the_other([11], gamma=4)
    assert latencies(replay)["tpot_s"][0] == pytest.approx(2 * C_T_S / 10)
    gaps = gaps_of(replay, replay.done)
    np.testing.assert_allclose(gaps.expand(), [C_T_S] * 2)
    per_token = itl_per_token(gaps, 10).expand()
    assert per_token.mean() == pytest.approx(2 * C_T_S / 10)
    assert np.count_nonzero(per_token) == 2


def test_one_token_has_no_tpot_and_meets_any_limit_of_it() -> None:
    replay, work = _one_after_the_other([1, 3])
    assert np.isnan(latencies(replay)["tpot_s"][0])
    assert slo_values(replay, SloMetric.TPOT)[0] == 0
    found = goodput(replay, work, window(replay, work, Cut()), (Slo(SloMetric.TPOT, C_T_S / 2),), 0.5)
    assert found.attainment == 0.5


@given(st.lists(st.floats(0, 1e3), min_size=1, max_size=40), st.lists(st.integers(0, 100), min_size=1, unique=True))
def test_percentiles_are_linear_between_order_statistics(values: list[float], marks: list[int]) -> None:
    found = describe(np.array([*values, np.nan]), marks)
    ranked = sorted(values)
    for mark in marks:
        place = (len(ranked) - 1) * mark / 100
        low = int(place)
        high = min(low + 1, len(ranked) - 1)
        wanted = ranked[low] + (place - low) * (ranked[high] - ranked[low])
        assert found[f"p{mark}"] == pytest.approx(wanted, rel=1e-9, abs=1e-9)
    assert found["mean"] == pytest.approx(statistics.fmean(values))
    assert found["max"] == max(values)


def test_percentiles_of_nothing_are_none_and_fractions_keep_their_name() -> None:
    assert describe(np.array([np.nan]), (99.9,)) == {"mean": None, "p99.9": None, "max": None}


def _naive_goodput(replay: Replay, work: Workload, slos: tuple[Slo, ...], kept: list[int]) -> tuple[int, int, int]:
    """Requests that meet all limits, accepted ones among them, and the tokens of those, request by request."""
    meeting = good = tokens = 0
    for one in kept:
        if replay.refused[one]:
            continue
        arrival, first, finish = (float(x[one]) for x in (replay.arrival_s, replay.first_token_s, replay.finish_s))
        length = int(replay.output_tokens[one])
        latency, ttft = finish - arrival, first - arrival
        measured = {
            SloMetric.TTFT: ttft,
            SloMetric.TPOT: (finish - first) / (length - 1) if length > 1 else 0.0,
            SloMetric.E2EL: latency,
            SloMetric.ITL: (finish - first) / max(1, int(replay.gaps.counts[one])),
        }
        if all(slo.limit_s >= measured[slo.metric] for slo in slos):
            meeting += 1
            if not work.attempt_rejected[one]:
                good += 1
                tokens += length
    return meeting, good, tokens


slo_sets = st.lists(
    st.builds(Slo, st.sampled_from(SloMetric), st.floats(0, 2)),
    min_size=1,
    max_size=4,
    unique_by=lambda slo: slo.metric,
).map(tuple)


@examples
@given(cases(), slo_sets, st.integers(0, 3), st.sampled_from([0.5, 0.9, 0.99, 1.0]))
def test_goodput_is_that_of_counting_requests(
    case: Case, slos: tuple[Slo, ...], num_warmups: int, wanted: float
) -> None:
    work = case.workload
    num_warmups = min(num_warmups, work.n_attempts - 1)
    replay = run(work, case.config)
    measured = window(replay, work, Cut(num_warmups=num_warmups))
    order = sorted(range(work.n_attempts), key=lambda one: (replay.arrival_s[one], one))
    kept = order[num_warmups:]
    np.testing.assert_array_equal(np.flatnonzero(measured.attempts), sorted(kept))
    span_s = max(replay.finish_s[kept]) - min(replay.arrival_s[kept])
    assert measured.duration_s == span_s
    meeting, good, tokens = _naive_goodput(replay, work, slos, kept)
    found: GoodputResult = goodput(replay, work, measured, slos, wanted)
    assert found.attainment == meeting / len(kept)
    assert found.good_requests == good
    if span_s:
        assert found.request_goodput_per_s == pytest.approx(good / span_s)
        assert found.token_goodput_per_s == pytest.approx(tokens / span_s)
    for one in found.slos:
        alone, _, _ = _naive_goodput(replay, work, (one.slo,), kept)
        assert one.attainment == alone / len(kept)
        assert (one.attainment >= wanted) == (one.value_s is not None and one.value_s <= one.slo.limit_s)


def test_goodput_is_read_as_vllm_writes_it() -> None:
    wanted = (Slo(SloMetric.TTFT, 0.5), Slo(SloMetric.TPOT, 0.05), Slo(SloMetric.E2EL, 10.0))
    assert parse_goodput(["ttft:500", "tpot:50", "e2el:10000"]) == wanted
    assert parse_goodput(["ttft:500,tpot:50 e2el:10000"]) == wanted


@pytest.mark.parametrize(
    ("text", "needed"),
    [("ttfb:5", "not one of ttft"), ("ttft", "METRIC:MILLISECONDS"), ("ttft:fast", "METRIC"), ("itl:-1", "negative")],
)
def test_goodput_that_cannot_be_read_says_why(text: str, needed: str) -> None:
    with pytest.raises(ValueError, match=needed):
        parse_goodput([text])


def test_an_objective_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        parse_goodput(["ttft:5", "ttft:6"])


@examples
@given(cases(), st.data())
def test_gaps_of_some_attempts_are_those_of_each(case: Case, data: st.DataObject) -> None:
    replay = run(case.workload, case.config)
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=len(replay.done), max_size=len(replay.done))))
    alone = [gaps_of(replay, np.arange(kept.size) == one).expand() for one in np.flatnonzero(kept)]
    np.testing.assert_array_equal(gaps_of(replay, kept).expand(), np.sort(np.concatenate([np.empty(0), *alone])))


def test_warm_up_and_drain_are_cut_from_metrics_only() -> None:
    work = single_turns([100] * 6, [6] * 6, start_s=[float(i) for i in range(6)])
    replay = run(work, _config(load=LoadConfig(mode=SessionMode.RECORDED)))
    measured = window(replay, work, Cut(warmup_s=1.5, num_warmups=3, drain_s=0.5))
    np.testing.assert_array_equal(measured.attempts, [False] * 3 + [True] * 2 + [False])
    np.testing.assert_array_equal(measured.sessions, measured.attempts)
    assert measured.duration_s == pytest.approx(1.2)
    with pytest.raises(ValueError, match="leave nothing of 6 requests"):
        window(replay, work, Cut(num_warmups=6))


def _naive_session(replay: Replay, attempts: list[int], start_s: float, end_s: float) -> dict[str, float]:
    """Time by state, moment by moment between events."""
    marks = sorted({start_s, end_s, *(float(getattr(replay, n)[a]) for n in _TIMES for a in attempts)})
    total = dict.fromkeys(("decode_s", "prefill_s", "queue_s", "tool_wait_s"), 0.0)
    for begin, end in pairwise(marks):
        middle = (begin + end) / 2
        if not start_s <= middle <= end_s:
            continue
        states = [sum(float(getattr(replay, n)[a]) <= middle for n in _TIMES) for a in attempts]
        busy = [state for state in states if 0 < state < len(_TIMES)]
        name = ("tool_wait_s", "queue_s", "prefill_s", "decode_s")[max(busy, default=0)]
        total[name] += end - begin
    return total


_TIMES = ("arrival_s", "scheduled_s", "first_token_s", "finish_s")


@examples
@given(cases())
def test_session_time_is_divided_among_what_it_does(case: Case) -> None:
    work = case.workload
    replay = run(work, case.config)
    found = session_times(replay, work)
    owner = work.turn_session[work.attempt_turn]
    for session in range(work.n_sessions):
        mine = [a for a in np.flatnonzero(owner == session).tolist() if replay.done[a]]
        wanted = _naive_session(
            replay, mine, float(replay.session_start_s[session]), float(replay.session_end_s[session])
        )
        for name, value in wanted.items():
            assert found[name][session] == pytest.approx(value, rel=1e-9, abs=1e-9), name


def test_tools_take_their_share_of_a_session() -> None:
    turns = tuple(
        Turn(prompt=tuple(range(100 * i, 100 * i + 50)), outputs=((9,) * 6,), parent=i - 1 if i else None, wait_s=2.0)
        for i in range(3)
    )
    replay = run(build([Session(turns=turns)], 16), _config())
    found = {
        name: float(values[0]) for name, values in session_times(replay, build([Session(turns=turns)], 16)).items()
    }
    assert found == pytest.approx(
        {"decode_s": 3 * 5 * C_T_S, "prefill_s": 3 * 0.05, "queue_s": 0.0, "tool_wait_s": 4.0}, abs=1e-9
    )


def test_load_is_summed_over_replicas_and_weighted_by_time() -> None:
    first = {"time_s": np.array([0.0, 2.0, 4.0]), "num": np.array([1.0, 3.0, 0.0])}
    second = {"time_s": np.array([1.0, 3.0]), "num": np.array([5.0, 0.0])}
    merged = merged_load([first, second])
    np.testing.assert_array_equal(merged["time_s"], [0, 1, 2, 3, 4])
    np.testing.assert_array_equal(merged["num"], [1, 6, 8, 3, 0])
    assert time_weighted(merged, "num") == pytest.approx((1 + 6 + 8 + 3) / 4)
    assert time_weighted({"time_s": np.zeros(1), "num": np.ones(1)}, "num") == 0
