"""Comparisons of replays of the sample, against its summaries and against what must follow from a change."""

from __future__ import annotations

import math
from dataclasses import replace

import msgspec
import numpy as np
import pyarrow as pa
import pytest

from scenarios.comparison.compare import CompareOptions, compare
from scenarios.comparison.document import Breakdown, Comparison, Metric, Pairing, Part, Verdict
from scenarios.comparison.totals import summary_figures
from scenarios.options.replay import OptionError
from scenarios.report.subjects import Run
from simulator.sessiontime import session_times
from tests.scenarios.comparison.conftest import MakeRun, asked_of, run_of
from traces.errors import SimtoolError

OBJECTIVES = ("ttft:80", "tpot:20")


def _compared(a: Run, b: Run, **options: object) -> Comparison:
    return compare(a, b, CompareOptions(**options))


def _metric(found: Comparison, key: str) -> Metric:
    return next(one for one in found.metrics if one.key == key)


def _breakdown(found: Comparison, key: str) -> Breakdown:
    return next(one for one in found.breakdowns if one.key == key)


def _parts(found: Comparison, key: str) -> dict[str, Part]:
    one = _breakdown(found, key)
    return {part.name: part for part in [*one.parts, one.total]}


def _totals_only(run: Run) -> Run:
    return replace(run, tables=None)


@pytest.mark.parametrize("cut", [{}, {"num_warmups": 20, "drain_s": 50.0}], ids=["whole", "cut"])
def test_values_are_those_of_the_summaries(run: MakeRun, cut: dict[str, object]) -> None:
    a, b = run(gamma=4, **cut), run(gamma=8, **cut)
    found = _compared(a, b, goodput=OBJECTIVES)
    for side, one in (("a", a), ("b", b)):
        expected = summary_figures(one.answer, (50, 90, 95, 99), ())
        assert len(expected) > 30
        for key, value in expected.items():
            assert getattr(_metric(found, key), side) == pytest.approx(value, rel=1e-9), key


def test_objectives_are_judged_as_a_replay_judges_them(run: MakeRun) -> None:
    options = {"gamma": 4, "goodput": OBJECTIVES, "slo_attainment": 0.9}
    judged = run_of(options).answer.replay.goodput
    assert judged is not None
    found = _compared(run(gamma=0), run(gamma=4), goodput=OBJECTIVES, slo_attainment=0.9)
    assert [(one.metric, one.attainment_b, one.met) for one in found.objectives] == [
        *((slo.metric, slo.attainment, slo.met) for slo in judged.slos),
        ("all", judged.attainment, judged.met),
    ]
    values = [one.value_ms_b for one in found.objectives[:-1]]
    assert values == pytest.approx([slo.value_ms for slo in judged.slos])
    assert _metric(found, "goodput_attainment").b == pytest.approx(judged.attainment * 100)
    assert _metric(found, "token_goodput_per_s").b == pytest.approx(judged.token_goodput_per_s)
    stored = _compared(run(gamma=0), run_of(options))
    assert stored.objectives == found.objectives


def test_equal_runs_differ_in_nothing(run: MakeRun) -> None:
    found = _compared(run(gamma=4), run(gamma=4), goodput=OBJECTIVES, fail_if_worse=("0",))
    assert found.config_differences == []
    for one in found.metrics:
        assert one.difference == 0
        assert (one.low, one.high) in ((0, 0), (None, None))
        assert one.verdict is Verdict.NONE
    for breakdown in found.breakdowns:
        assert {part.difference for part in [*breakdown.parts, breakdown.total]} == {0}
    assert found.requests is not None
    assert found.requests.equal == found.requests.common == 118
    assert all(gate.met for gate in found.gates)


def test_same_question_same_bytes_and_the_other_way_round_the_signs(run: MakeRun) -> None:
    a, b = run(gamma=4), run(gamma=8)
    there, again, back = _compared(a, b), _compared(a, b), _compared(b, a)
    assert msgspec.json.encode(there) == msgspec.json.encode(again)
    for one, other in zip(there.metrics, back.metrics, strict=True):
        assert one.difference == pytest.approx(-other.difference)
        if one.low is not None:
            assert (one.low, one.high) == pytest.approx((-other.high, -other.low), rel=1e-9, abs=1e-12)
    worse = {Verdict.BETTER: Verdict.WORSE, Verdict.WORSE: Verdict.BETTER}
    assert [worse.get(one.verdict, one.verdict) for one in there.metrics] == [one.verdict for one in back.metrics]


def test_depth_shows_in_decoding(run: MakeRun) -> None:
    found = _compared(run(gamma=4), run(gamma=8))
    assert [(one.name, one.a, one.b) for one in found.config_differences] == [("num_speculative_tokens", 4, 8)]
    assert found.pairing is Pairing.PAIRED
    assert _metric(found, "tokens_per_round").verdict is Verdict.BETTER
    assert _metric(found, "draft_acceptance_rate").verdict is Verdict.WORSE
    for key in ("e2el", "cost"):
        parts = _parts(found, key)
        assert parts["decode"].difference > 0.9 * parts["total"].difference > 0
        assert parts["cache"].difference == 0


@pytest.mark.parametrize("gamma", [0, 4])
def test_the_prefix_cache_shows_as_cache_and_not_as_prefill(run: MakeRun, gamma: int) -> None:
    found = _compared(run(gamma=gamma, enable_prefix_caching=False), run(gamma=gamma))
    cost = _parts(found, "cost")
    prefill, cache = cost["prefill"], cost["cache"]
    assert cache.a == 0
    assert cache.difference < -0.5 * prefill.a
    assert abs(prefill.difference) < 0.01 * prefill.a
    latency = _parts(found, "e2el")
    assert latency["cache"].difference < 5 * latency["prefill"].difference < 0
    assert _metric(found, "prefix_cache_hit_rate_tokens").verdict is Verdict.BETTER
    assert _metric(found, "p50_ttft_ms").verdict is Verdict.BETTER


def test_a_slower_gpu_is_slower_in_what_it_computes(run: MakeRun) -> None:
    small = {"gamma": 0, "model": "Qwen3-8B", "gpu_price_per_hour": 2.0}
    found = _compared(run(**small, gpu="H200"), run(**small, gpu="L40S"))
    for key in ("p50_e2el_ms", "p99_e2el_ms", "mean_session_s", "C_total_s", "C_total_usd_per_1000_turns"):
        assert _metric(found, key).verdict is Verdict.WORSE
    latency, session, money = (_parts(found, key) for key in ("e2el", "session", "usd"))
    bandwidth = 4.8 / 0.864
    assert 0.5 * bandwidth < latency["decode"].b / latency["decode"].a < 1.1 * bandwidth
    assert latency["prefill"].difference > 0 > latency["cache"].difference
    assert money["price"].difference == 0
    assert session["decode"].difference > 0.5 * session["total"].difference
    assert {one.name for one in found.config_differences} >= {"gpu", "num_gpu_blocks"}
    origins = [one.origin_b for one in found.config_differences]
    assert origins == sorted(origins, key=lambda origin: origin != "declared")


def test_a_price_alone_is_a_change_of_price(run: MakeRun) -> None:
    found = _compared(run(gpu_price_per_hour=2.0), run(gpu_price_per_hour=3.0))
    money = _parts(found, "usd")
    assert money["price"].difference == pytest.approx(money["total"].difference)
    assert money["total"].difference == pytest.approx(money["total"].a / 2)
    assert {part.difference for name, part in money.items() if name not in ("price", "total")} == {0}
    assert _parts(found, "cost")["total"].difference == 0


def test_faster_tools_are_a_change_of_tool_waits(run: MakeRun) -> None:
    found = _compared(run(), run(tool_speedup=4.0))
    session = _parts(found, "session")
    assert session["tool waits"].b == pytest.approx(session["tool waits"].a / 4, rel=0.05)
    assert session["tool waits"].difference == pytest.approx(session["total"].difference, rel=0.02)


def test_more_draws_are_a_change_of_retries(run: MakeRun) -> None:
    found = _compared(run(nu=1.0), run(nu=2.0))
    cost, session = _parts(found, "cost"), _parts(found, "session")
    assert cost["retries"].a == session["retries"].a == 0
    assert cost["retries"].difference > 0.7 * cost["total"].difference > 0
    assert session["retries"].difference > 0
    assert _metric(found, "nu").verdict is Verdict.WORSE
    assert found.requests is not None
    assert (found.requests.common, found.requests.only_in_a) == (110, 0)
    assert found.requests.only_in_b > 60


def test_session_parts_are_the_simulators_session_times(run: MakeRun) -> None:
    """Of a run without retries."""
    asked = asked_of({"nu": 1.0, "gamma": 4})
    times = session_times(asked.replay, asked.workload)
    session = _parts(_compared(run(nu=1.0, gamma=4), run(nu=1.0, gamma=4)), "session")
    for name in ("decode", "queue", "tool_wait"):
        part = session["tool waits" if name == "tool_wait" else name]
        assert part.a == pytest.approx(np.mean(times[f"{name}_s"]), rel=1e-9)
    assert session["prefill"].a + session["cache"].a == pytest.approx(np.mean(times["prefill_s"]))


def _with_columns(run: Run, **columns: np.ndarray) -> Run:
    assert run.tables is not None
    turns = run.tables.turns
    for name, values in columns.items():
        turns = turns.set_column(turns.column_names.index(name), name, pa.array(values, from_pandas=True))
    return replace(run, tables=replace(run.tables, turns=turns))


def test_a_known_shift_is_found_with_certainty(run: MakeRun) -> None:
    """Half a second more in the queue of each request: each resample has the same difference."""
    a = run(gamma=4)
    assert a.tables is not None
    values = {name: a.tables.turns.column(name).to_numpy() + 0.5 for name in
              ("queue_s", "ttft_s", "e2el_s", "scheduled_s", "first_token_s", "finish_s")}  # fmt: skip
    found = _compared(a, _with_columns(a, **values))
    for key in ("mean_ttft_ms", "p50_ttft_ms", "p99_e2el_ms"):
        one = _metric(found, key)
        assert [one.difference, one.low, one.high] == pytest.approx([500] * 3)
        assert one.verdict is Verdict.WORSE
    latency = _parts(found, "e2el")
    assert latency["queue"].difference == pytest.approx(latency["total"].difference) == pytest.approx(500)
    assert latency["decode"].difference == latency["prefill"].difference == 0
    assert _metric(found, "p50_tpot_ms").verdict is Verdict.NONE
    assert found.requests is not None
    assert found.requests.slower == found.requests.common


def test_noise_in_one_session_shows_no_difference(run: MakeRun) -> None:
    a = run(gamma=4)
    assert a.tables is not None
    turns = a.tables.turns
    ids = np.array(turns.column("session_id").to_pylist())
    shift = np.where(ids == ids[0], 3.0, 0.0) - np.where(ids == ids[-1], 3.0, 0.0)
    found = _compared(a, _with_columns(a, e2el_s=turns.column("e2el_s").to_numpy() + shift))
    assert _metric(found, "mean_e2el_ms").difference != 0
    assert _metric(found, "mean_e2el_ms").verdict is Verdict.NONE


def test_without_tables_there_are_totals_and_no_verdicts(run: MakeRun) -> None:
    a, b = run(gamma=0), run(gamma=4)
    full = _compared(a, b)
    for pair in ((_totals_only(a), b), (a, _totals_only(b)), (_totals_only(a), _totals_only(b))):
        found = _compared(*pair)
        assert found.pairing is Pairing.TOTALS
        assert found.resamples == 0
        assert "no table of attempts" in found.pairing_reason
        for one in found.metrics:
            other = _metric(full, one.key)
            assert (one.a, one.b) == pytest.approx((other.a, other.b), nan_ok=True)
            assert one.low is one.high is None
            assert one.verdict is (Verdict.NONE if one.difference == 0 else Verdict.NOT_JUDGED)
        for one in found.breakdowns:
            total = _breakdown(full, one.key).total
            assert one.total.difference == pytest.approx(total.difference, rel=1e-6)
            assert sum(part.difference for part in one.parts) == pytest.approx(one.total.difference)


def test_totals_know_the_stored_objectives_only(run: MakeRun) -> None:
    b = _totals_only(run_of({"gamma": 4, "goodput": OBJECTIVES}))
    found = _compared(run(), b, goodput=("tpot:20,ttft:80",))
    assert [one.metric for one in found.objectives] == ["ttft", "tpot", "all"]
    assert found.objectives[0].attainment_a is None
    with pytest.raises(OptionError, match="needs the requests one by one"):
        _compared(run(), b, goodput=("ttft:81",))


def test_different_traces_are_not_paired(run: MakeRun, tmp_path) -> None:
    from tests.shared import AGENT_LOOP

    part = tmp_path / "part.jsonl"
    part.write_text("".join(AGENT_LOOP.read_text(encoding="utf-8").splitlines(keepends=True)[:6]), encoding="utf-8")
    other = run_of({"gamma": 4}, (str(part),))
    found = _compared(run(gamma=4), other)
    assert found.pairing is Pairing.UNPAIRED
    assert found.requests is None
    assert found.warnings[0].startswith("different traces")
    assert _metric(found, "p50_e2el_ms").verdict is Verdict.NONE
    low, high = _metric(found, "mean_e2el_ms").low, _metric(found, "mean_e2el_ms").high
    same = _metric(_compared(run(gamma=0), run(gamma=4)), "mean_e2el_ms")
    assert high - low > same.high - same.low


def test_seeds_and_versions_are_warned_about(run: MakeRun) -> None:
    a, b = run(gamma=4), run(gamma=4, seed=1)
    found = _compared(a, b)
    assert any(warning.startswith("different seeds: 0 and 1") for warning in found.warnings)
    older = replace(b, answer=msgspec.structs.replace(b.answer, version="0.0.1", modelled_engine="vLLM of old"))
    warned = " ".join(_compared(a, older).warnings)
    assert "different versions of simtool: 0.1.0 and 0.0.1" in warned
    assert "different modelled engines" in warned


def test_limits_stand_next_to_what_they_limit(run: MakeRun) -> None:
    a, b = run(gamma=4), run(gamma=8)
    relative = _metric(_compared(a, b), "p50_e2el_ms").relative
    assert relative is not None
    worse = relative * 100
    for limit, met in ((math.floor(worse), False), (math.ceil(worse), True)):
        (gate,) = _compared(a, b, fail_if_worse=(f"p50_e2el_ms:{limit}",)).gates
        assert (gate.limit_percent, gate.met) == (limit, met)
        assert gate.worse_percent == pytest.approx(worse)
    gates = _compared(a, b, fail_if_worse=("5", "tokens_per_round:0, draft_acceptance_rate:10")).gates
    assert len(gates) == 6
    found = {gate.metric: gate for gate in gates}
    assert found["tokens_per_round"].worse_percent < 0
    assert not found["draft_acceptance_rate"].met


@pytest.mark.parametrize(("text", "reason"), [
    ("five", "METRIC:PERCENT"), ("-1", "METRIC:PERCENT"), ("p99_ttft:5", "did you mean 'p99_ttft_ms'"),
    ("nonsense:5", "metrics are mean_ttft_ms"), ("nan", "METRIC:PERCENT"),
])  # fmt: skip
def test_limits_that_mean_nothing(run: MakeRun, text: str, reason: str) -> None:
    with pytest.raises(OptionError, match=reason):
        _compared(run(), run(), fail_if_worse=(text,))


def test_a_limit_on_what_grew_from_nothing_is_missed(run: MakeRun) -> None:
    found = _compared(run(), run(enable_prefix_caching=False), fail_if_worse=("prefix_cache_hit_rate_tokens:10",))
    assert found.gates[0].worse_percent == pytest.approx(100)
    back = _compared(run(enable_prefix_caching=False), run(), fail_if_worse=("prefix_cache_hit_rate_tokens:10",))
    assert back.gates[0].worse_percent is None
    assert back.gates[0].met


def test_one_session_gives_no_verdict(run: MakeRun, tmp_path) -> None:
    from tests.shared import AGENT_LOOP

    one = tmp_path / "one.jsonl"
    one.write_text("".join(AGENT_LOOP.read_text(encoding="utf-8").splitlines(keepends=True)[:2]), encoding="utf-8")
    runs = [run_of({"gamma": gamma}, (str(one),)) for gamma in (0, 4)]
    found = _compared(*runs)
    assert any("no intervals" in warning for warning in found.warnings)
    assert {one.verdict for one in found.metrics} == {Verdict.NONE, Verdict.NOT_JUDGED}


def test_a_table_of_an_older_simtool(run: MakeRun) -> None:
    a, b = run(gamma=4), run(gamma=8)
    assert b.tables is not None
    older = replace(b, tables=replace(b.tables, turns=b.tables.turns.drop_columns(["cache_saved_s"])))
    found = _compared(a, older)
    assert _parts(found, "cost")["cache"].a == _parts(found, "cost")["cache"].b == 0
    assert all(any("cache_saved_s" in note for note in one.notes) for one in found.breakdowns)
    oldest = replace(b, tables=replace(b.tables, turns=b.tables.turns.drop_columns(["measured"])))
    with pytest.raises(SimtoolError, match="of B has no column 'measured'"):
        _compared(a, oldest)


@pytest.mark.parametrize(("options", "reason"), [
    ({"confidence_level": 1.0}, "--confidence-level is 1.0"),
    ({"goodput": ("ttfb:3",)}, "ttfb"),
    ({"metric_percentiles": "101"}, "within 0 and 100"),
    ({"slo_attainment": 0.0}, "--slo-attainment"),
])  # fmt: skip
def test_options_out_of_range(run: MakeRun, options: dict[str, object], reason: str) -> None:
    with pytest.raises(OptionError, match=reason):
        _compared(run(), run(), **options)
