"""Objectives, percentiles, cuts and vLLM's flat keys, as a user of simtool replay meets them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.shared import AGENT_LOOP
from tests.simtool.run import Ran, simtool

SAMPLE = str(AGENT_LOOP)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "100")

    def run(*args: str) -> Ran:
        return simtool(capsys, monkeypatch, "replay", SAMPLE, *args)

    return run


def _document(cli, *args: str) -> dict[str, Any]:
    return json.loads(cli(*args, "--json", "-").out)


def test_objectives_show_limit_value_and_attainment(cli) -> None:
    args = ("--gamma", "0", "--goodput", "ttft:500", "--goodput", "tpot:1,e2el:1000000", "--slo-attainment", "0.9")
    ran = cli(*args)
    assert ran.code == 0
    table = ran.out[ran.out.index("Objectives: 90.0 % of requests") :].splitlines()
    rows = {line.split()[0]: line for line in table[2:6]}
    assert rows["TTFT"].split()[-1] == rows["E2EL"].split()[-1] == "met"
    assert rows["TPOT"].split()[-1] == rows["all"].split()[-1] == "missed"
    assert "1,000,000" in rows["E2EL"]
    found = _document(cli, *args)["replay"]["goodput"]
    assert [(slo["metric"], slo["limit_ms"], slo["met"]) for slo in found["slos"]] == [
        ("ttft", 500.0, True),
        ("tpot", 1.0, False),
        ("e2el", 1e6, True),
    ]
    assert found["attainment"] == found["request_goodput_per_s"] == found["token_goodput_per_s"] == 0


def test_without_objectives_nothing_is_said_of_them(cli) -> None:
    ran = cli("--gamma", "0")
    assert "Objectives" not in ran.out
    assert "Replicas" not in ran.out
    assert _document(cli, "--gamma", "0")["replay"]["goodput"] is None


@pytest.mark.parametrize(("limit_ms", "code"), [("1", 4), ("1000000", 0)])
def test_fail_on_slo_exits_with_4_when_missed(cli, limit_ms: str, code: int) -> None:
    ran = cli("--gamma", "0", "--goodput", f"ttft:{limit_ms}", "--fail-on-slo", "-q")
    assert ran.code == code
    assert ran.out.startswith("Replayed")
    assert cli("--gamma", "0", "--goodput", f"ttft:{limit_ms}", "-q").code == 0


def test_attainment_wanted_decides(cli, tmp_path: Path) -> None:
    assert cli("--gamma", "0", "-q", "-o", str(tmp_path)).code == 0
    ttft_ms = np.array([row["ttft_s"] for row in pq.read_table(tmp_path / "turns.parquet").to_pylist()]) * 1e3
    limit = f"ttft:{np.median(ttft_ms)}"
    share = float((ttft_ms <= np.median(ttft_ms)).mean())
    found = _document(cli, "--gamma", "0", "--goodput", limit)["replay"]["goodput"]
    assert found["attainment"] == pytest.approx(share)
    for wanted, code in ((share - 0.01, 0), (share + 0.01, 4)):
        args = ("--gamma", "0", "--goodput", limit, "--fail-on-slo", "--slo-attainment", str(wanted), "-q")
        assert cli(*args).code == code


@pytest.mark.parametrize(
    ("args", "needed"),
    [
        (("--fail-on-slo",), "--goodput"),
        (("--goodput", "ttfb:3"), "ttfb"),
        (("--goodput", "ttft:x"), "METRIC:MILLISECONDS"),
        (("--slo-attainment", "1.5", "--goodput", "ttft:1"), "--slo-attainment is 1.5"),
        (("--metric-percentiles", "50,101"), "within 0 and 100"),
        (("--metric-percentiles", "half"), "50,90,99"),
        (("--num-warmups", "-1"), "--num-warmups is -1"),
        (("--num-warmups", "1000"), "leave nothing"),
        (("--router", "random"), "prefix-aware"),
        (("--replicas", "2", "--prefill-replicas", "2"), "below --replicas"),
        (("--kv-offload-gb", "-1"), "--kv-offload-gb is -1"),
        (("--kv-offload-gb", "0.0000001"), "less than one block"),
        (("--kv-offload-gb", "1", "--kv-offload-gb-per-s", "0"), "must be above 0"),
    ],
)
def test_bad_options_say_what_is_wrong(cli, args: tuple[str, ...], needed: str) -> None:
    ran = cli("--gamma", "0", *args)
    assert ran.code == 2
    assert needed in " ".join(ran.err.replace("│", " ").split())
    assert ran.out == ""


def test_percentiles_can_be_chosen(cli) -> None:
    ran = cli("--gamma", "0", "--metric-percentiles", "25,99.9")
    assert "TTFT p25 ms" in ran.out
    assert "TTFT p99.9 ms" in ran.out
    assert "p50" not in ran.out
    document = _document(cli, "--gamma", "0", "--metric-percentiles", "25,99.9")
    assert list(document["replay"]["ttft_s"]) == ["mean", "p25", "p99.9", "max"]
    assert "p99.9_ttft_ms" in document["vllm_compat"]


def _rows(folder: Path) -> list[dict[str, Any]]:
    return pq.read_table(folder / "turns.parquet").to_pylist()


@pytest.mark.parametrize("cut", [(), ("--num-warmups", "30", "--drain-s", "100")])
def test_flat_keys_are_those_of_a_serving_benchmark(cli, tmp_path: Path, cut: tuple[str, ...]) -> None:
    """Worked out from the table of attempts as vllm bench serve works it out from its requests."""
    args = ("--gamma", "4", "--goodput", "ttft:100,tpot:13", *cut)
    assert cli(*args, "-q", "-o", str(tmp_path)).code == 0
    document = json.loads((tmp_path / "summary.json").read_text())
    flat = document["vllm_compat"]
    rows = _rows(tmp_path)
    if cut:
        rows = sorted(rows, key=lambda row: row["arrival_s"])[30:]
        end_s = max(row["finish_s"] for row in _rows(tmp_path))
        rows = [row for row in rows if row["finish_s"] <= end_s - 100]
        assert document["replay"]["cut_requests"] == 118 - len(rows)
    duration = max(row["finish_s"] for row in rows) - min(row["arrival_s"] for row in rows)
    tokens = sum(row["output_tokens"] for row in rows)
    assert flat["completed"] == len(rows)
    assert flat["duration"] == pytest.approx(duration)
    assert flat["total_output_tokens"] == tokens
    assert flat["request_throughput"] == pytest.approx(len(rows) / duration)
    assert flat["output_throughput"] == pytest.approx(tokens / duration)
    ttft = [row["ttft_s"] * 1e3 for row in rows]
    tpot = [
        (row["e2el_s"] - row["ttft_s"]) / (row["output_tokens"] - 1) * 1e3 for row in rows if row["output_tokens"] > 1
    ]
    assert flat["mean_ttft_ms"] == pytest.approx(np.mean(ttft))
    assert flat["std_ttft_ms"] == pytest.approx(np.std(ttft))
    assert flat["p99_ttft_ms"] == pytest.approx(np.percentile(ttft, 99))
    assert flat["median_tpot_ms"] == pytest.approx(np.median(tpot))
    gaps = sum(row["rounds"] for row in rows)
    assert flat["mean_itl_ms"] == pytest.approx(sum(row["decode_s"] for row in rows) / gaps * 1e3)
    good = [
        row
        for row in rows
        if row["ttft_s"] <= 0.1 and (row["output_tokens"] == 1 or row["tpot_s"] is None or row["tpot_s"] <= 0.013)
    ]
    assert 0 < len(good) < len(rows)
    assert flat["request_goodput"] == pytest.approx(len(good) / duration)
    counters = document["replay"]["speculation"]
    assert flat["spec_decode_acceptance_rate"] == pytest.approx(
        100 * counters["num_accepted_tokens"] / counters["num_draft_tokens"]
    )
    assert flat["spec_decode_per_position_acceptance_rates"] == pytest.approx(
        [count / counters["num_drafts"] for count in counters["num_accepted_tokens_per_pos"]]
    )
    conservation = document["replay"]["conservation"]
    assert conservation["requests_injected"] == conservation["requests_completed"] == 118


def test_without_speculation_its_flat_keys_are_absent(cli) -> None:
    flat = _document(cli, "--gamma", "0")["vllm_compat"]
    assert not [name for name in flat if name.startswith("spec_decode")]
    assert flat["request_goodput"] is None


def test_session_time_adds_up_to_one(cli) -> None:
    shares = _document(cli, "--gamma", "0")["replay"]["session_time_shares"]
    assert set(shares) == {"decode", "prefill", "queue", "tool_wait"}
    assert sum(shares.values()) == pytest.approx(1.0)
    assert shares["tool_wait"] > 0.5
