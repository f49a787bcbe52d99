"""Server figures read back from text written by the metrics client library and in the formats vLLM prints."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, Summary, generate_latest

from scenarios.server.benchjson import read_bench
from scenarios.server.promtext import read_metrics
from scenarios.server.vllmlog import read_log
from traces.errors import TraceError

ACCEPTED = (682, 438, 297, 214)


def dump(path: Path, scale: float) -> Path:
    registry = CollectorRegistry()

    def counter(name: str, value: float) -> None:
        one = Counter(f"vllm:{name}", name, ["engine"], registry=registry)
        for engine in ("0", "1"):
            one.labels(engine).inc(value / 2)

    counter("spec_decode_num_drafts", 1000 * scale)
    counter("spec_decode_num_draft_tokens", 4000 * scale)
    counter("spec_decode_num_accepted_tokens", sum(ACCEPTED) * scale)
    counter("prefix_cache_queries", 500 * scale)
    counter("prefix_cache_hits", 400 * scale)
    per_pos = Counter("vllm:spec_decode_num_accepted_tokens_per_pos", "", ["engine", "position"], registry=registry)
    for position, value in enumerate(ACCEPTED):
        per_pos.labels("0", str(position)).inc(value * scale)
    tpot = Summary("vllm:request_time_per_output_token_seconds", "", registry=registry)
    for seconds in (0.01, 0.03):
        tpot.observe(seconds)
    Gauge("vllm:num_requests_running", "", registry=registry).set(7)
    path.write_bytes(generate_latest(registry))
    return path


def test_metrics_add_up_over_engines(tmp_path: Path) -> None:
    run = read_metrics(dump(tmp_path / "m", 1))
    assert (run.num_drafts, run.num_draft_tokens, run.num_accepted_tokens) == (1000, 4000, sum(ACCEPTED))
    assert run.accepted_per_pos == ACCEPTED
    assert run.gamma == 4
    assert run.acceptance_length == pytest.approx(2.631)
    assert run.tpot_s == pytest.approx(0.02)
    assert (run.prefix_hits_tokens, run.prefix_queries_tokens) == (400, 500)


def test_two_dumps_give_what_lies_between(tmp_path: Path) -> None:
    early, late = dump(tmp_path / "a", 1), dump(tmp_path / "b", 3)
    run = read_metrics(late, early)
    assert run.num_drafts == 2000
    assert run.survival == pytest.approx(tuple(value / 1000 for value in ACCEPTED))
    assert run.tpot_s is None
    with pytest.raises(TraceError, match="from one server run"):
        read_metrics(early, late)


@pytest.mark.parametrize("text", ["", "# nothing\n", "some_counter_total 3\n", 'vllm:x_total{position="1 3\n'])
def test_other_text_is_no_dump(tmp_path: Path, text: str) -> None:
    path = tmp_path / "m"
    path.write_text(text)
    with pytest.raises(TraceError, match="metrics"):
        read_metrics(path)


def log_line(drafts: int, per_pos: np.ndarray, drafted: int, avg: str = "Avg ") -> str:
    accepted = int(per_pos.sum())
    rates = ", ".join(f"{count / drafts:.3f}" for count in per_pos)
    return (
        f"(EngineCore pid=1) INFO 01-02 [metrics.py:96] SpecDecoding metrics: Mean acceptance length: "
        f"{1 + accepted / drafts:.2f}, Accepted throughput: 1.00 tokens/s, Drafted throughput: 2.00 tokens/s, "
        f"Accepted: {accepted} tokens, Drafted: {drafted} tokens, Per-position acceptance rate: {rates}, "
        f"{avg}Draft acceptance rate: {100 * accepted / drafted:.1f}%\n"
    )


def test_log_intervals_add_up(tmp_path: Path) -> None:
    path = tmp_path / "log"
    counts = [np.array([150, 120, 60]), np.array([300, 100, 50])]
    lines = [log_line(200, counts[0], 600), "INFO something else\n", log_line(400, counts[1], 1200, "")]
    path.write_text("".join(lines))
    run = read_log(path)
    assert run.num_drafts == 600
    assert run.num_accepted_tokens == 780
    assert run.accepted_per_pos == pytest.approx((450, 220, 110), abs=0.5)


def test_log_of_a_drafter_that_drafts_less_than_the_depth(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(log_line(1000, np.array([600, 500, 400]), 2100))
    run = read_log(path)
    assert run.num_drafts == pytest.approx(1000, rel=0.01)
    assert run.survival[0] == pytest.approx(0.6, abs=0.001)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("INFO nothing\n", "log: holds no"),
        ("a\nSpecDecoding metrics: Draft acceptance 3\n", "log:2: speculation line"),
        (log_line(9, np.array([3]), 9) + log_line(9, np.array([3, 1]), 18), "log:2: draft depth changed"),
    ],
)
def test_log_errors_name_their_place(tmp_path: Path, text: str, place: str) -> None:
    path = tmp_path / "log"
    path.write_text(text)
    with pytest.raises(TraceError, match=place):
        read_log(path)


@pytest.mark.parametrize("unit", [1, 100])
def test_benchmark_rates_in_either_unit(tmp_path: Path, unit: float) -> None:
    path = tmp_path / "bench.json"
    result = {
        "completed": 3,
        "mean_tpot_ms": 12.5,
        "mean_itl_ms": 30.0,
        "spec_decode_num_drafts": 1000,
        "spec_decode_draft_tokens": 4000,
        "spec_decode_accepted_tokens": sum(ACCEPTED),
        "spec_decode_per_position_acceptance_rates": [value / 1000 * unit for value in ACCEPTED],
    }
    path.write_text(json.dumps(result))
    run = read_bench(path)
    assert run.accepted_per_pos == pytest.approx(ACCEPTED)
    assert run.tpot_s == 0.0125
    path.write_text(json.dumps({"completed": 3, "mean_tpot_ms": 12.5}))
    assert read_bench(path).gamma == 0
    path.write_text(json.dumps({"completed": 0, "mean_tpot_ms": 0.0}))
    with pytest.raises(TraceError, match="no request completed"):
        read_bench(path)
    path.write_text("{}")
    with pytest.raises(TraceError, match="not a serving benchmark result"):
        read_bench(path)
