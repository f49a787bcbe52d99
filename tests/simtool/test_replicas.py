"""Replicas, KV tiers, load over time and the timeline, as a user of simtool replay meets them."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow.parquet as pq
import pytest

from tests.shared import AGENT_LOOP
from tests.simtool.run import Ran, simtool

SAMPLE = str(AGENT_LOOP)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "100")

    def run(*args: str) -> Ran:
        return simtool(capsys, monkeypatch, *args)

    return run


def _document(cli, *args: str) -> dict[str, Any]:
    return json.loads(cli("replay", SAMPLE, *args, "--json", "-").out)


@pytest.mark.parametrize("router", ["round-robin", "least-loaded", "session-affinity", "prefix-aware"])
def test_replicas_share_the_requests(cli, router: str) -> None:
    document = _document(cli, "--gamma", "0", "--replicas", "3", "--router", router)
    jsonschema.validate(document, json.loads(cli("schema", "result").out))
    run = document["replay"]
    assert sum(row["requests"] for row in run["replicas"]) == 118
    assert all(row["requests"] for row in run["replicas"])
    assert sum(row["busy_s"] for row in run["replicas"]) == pytest.approx(run["busy_s"])
    assert run["cost"]["utilization"] == pytest.approx(run["busy_s"] / run["duration_s"] / 3)
    assert run["cost"]["provisioned_usd"] == pytest.approx(run["duration_s"] * 3 * 3.5 / 3600)
    assert document["config"]["router"]["value"] == router
    assert document["config"]["max_concurrency"]["value"] == 24


def test_replicas_stand_side_by_side_on_the_screen(cli) -> None:
    out = cli("replay", SAMPLE, "--gamma", "0", "--replicas", "2").out
    rows = out[out.index("Replicas (running") :].splitlines()[2:4]
    assert [row.split()[0] for row in rows] == ["0", "1"]


def test_affinity_finds_more_of_the_prefix_than_taking_turns(cli) -> None:
    hit = {
        router: _document(cli, "--gamma", "0", "--replicas", "4", "--router", router)["replay"][
            "prefix_cache_hit_rate_tokens"
        ]
        for router in ("round-robin", "session-affinity", "prefix-aware")
    }
    assert hit["session-affinity"] > hit["round-robin"] + 0.05
    assert hit["prefix-aware"] > hit["round-robin"] + 0.05


def test_prefill_apart_costs_the_transfer(cli) -> None:
    fast, slow = (
        _document(cli, "--gamma", "0", "--replicas", "3", "--prefill-replicas", "1", "--kv-transfer-gb-per-s", rate)
        for rate in ("50", "1")
    )
    assert [row["role"] for row in fast["replay"]["replicas"]] == ["prefill", "decode", "decode"]
    assert fast["replay"]["replicas"][0]["requests"] == 118
    assert slow["replay"]["kv_transfer_s"] > 10 * fast["replay"]["kv_transfer_s"] > 0
    assert slow["replay"]["ttft_s"]["p50"] > fast["replay"]["ttft_s"]["p50"]


def test_host_memory_turns_evictions_into_hits(cli) -> None:
    small = ("--gamma", "0", "--num-gpu-blocks", "2700", "--max-model-len", "40000")
    without = _document(cli, *small)["replay"]
    with_host = _document(cli, *small, "--kv-offload-gb", "50")["replay"]
    assert without["num_evicted_blocks"] > 0
    assert with_host["external_prefix_cache_hits"] > 0
    assert with_host["prefix_cache_hit_rate_tokens"] > without["prefix_cache_hit_rate_tokens"]
    assert with_host["cost"]["C_hit_s"] > without["cost"]["C_hit_s"] == 0
    conservation = with_host["conservation"]
    assert conservation["attributed_s"] == pytest.approx(conservation["busy_s"])
    out = cli("replay", SAMPLE, *small, "--kv-offload-gb", "50").out
    assert "C_hit" in out
    assert "prompt tokens loaded from the host" in out


def test_load_over_time_is_written_with_the_engines_gauge_names(cli, tmp_path: Path) -> None:
    assert cli("replay", SAMPLE, "--gamma", "0", "--replicas", "2", "-q", "-o", str(tmp_path)).code == 0
    table = pq.read_table(tmp_path / "load.parquet")
    assert table.column_names == [
        "replica",
        "time_s",
        "num_requests_running",
        "num_requests_waiting",
        "kv_cache_usage_perc",
    ]
    run = json.loads((tmp_path / "summary.json").read_text())["replay"]
    rows = table.to_pylist()
    assert {row["replica"] for row in rows} == {0, 1}
    assert max(row["kv_cache_usage_perc"] for row in rows) == pytest.approx(run["max_kv_cache_usage"])
    assert 0 < run["mean_kv_cache_usage"] < run["max_kv_cache_usage"] <= 1
    assert 0 < run["mean_num_requests_running"] < run["max_num_requests_running"]
    assert cli("replay", SAMPLE, "--gamma", "0", "-q", "-o", str(tmp_path)).code == 2


def test_replicas_give_one_answer_byte_for_byte(cli, tmp_path: Path) -> None:
    for name in ("a", "b"):
        args = ("--replicas", "3", "--router", "prefix-aware", "--timeline", str(tmp_path / f"{name}.json"))
        assert cli("replay", SAMPLE, *args, "-q", "-o", str(tmp_path / name)).code == 0
    for file in ("summary.json", "turns.parquet", "load.parquet"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def _timeline(cli, path: Path, *args: str) -> dict[str, Any]:
    assert cli("replay", SAMPLE, "--timeline", str(path), *args, "-q").code == 0
    return json.loads(path.read_text())


def test_the_timeline_has_a_track_for_each_replica_and_session(cli, tmp_path: Path) -> None:
    document = _timeline(cli, tmp_path / "t.json", "--replicas", "2", "-o", str(tmp_path / "out"))
    events = document["traceEvents"]
    slices = [event for event in events if event["ph"] == "X"]
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    processes = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert {event["ph"] for event in events} == {"X", "M"}
    assert [event["ts"] for event in slices] == sorted(event["ts"] for event in slices)
    assert sorted(name for (pid, _), name in names.items() if processes[pid] == "replicas") == [
        "replica 0",
        "replica 1",
    ]
    assert len({name for (pid, _), name in names.items() if processes[pid] == "sessions"}) >= 11
    kinds = {processes[pid]: {e["name"] for e in slices if e["pid"] == pid} for pid in processes}
    assert kinds["replicas"] <= {"prefill", "decode", "mixed"}
    assert kinds["sessions"] <= {"queue", "prefill", "decode", "tool wait"}
    tracks = defaultdict(list)
    for event in slices:
        assert event["dur"] >= 0
        tracks[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    assert set(tracks) <= set(names)
    for spans in tracks.values():  # slices of one track do not overlap, so that any viewer nests them alike
        assert all(after[0] >= before[1] - 2e-3 for before, after in pairwise(spans))
    run = json.loads((tmp_path / "out" / "summary.json").read_text())["replay"]
    busy_us = sum(event["dur"] for event in slices if processes[event["pid"]] == "replicas")
    assert busy_us == pytest.approx(run["busy_s"] * 1e6, rel=1e-6)
    steps = sum(event["args"].get("steps", 1) for event in slices if processes[event["pid"]] == "replicas")
    assert steps == run["n_steps"]


def test_a_long_timeline_is_cut_and_says_where(cli, tmp_path: Path) -> None:
    whole = _timeline(cli, tmp_path / "whole.json")
    cut = _timeline(cli, tmp_path / "cut.json", "--timeline-events", "50")
    slices = [event for event in cut["traceEvents"] if event["ph"] == "X"]
    assert len(slices) == cut["otherData"]["slices"] == 50
    assert slices == [event for event in whole["traceEvents"] if event["ph"] == "X"][:50]
    assert cut["otherData"]["slices_cut"] == whole["otherData"]["slices"] - 50
    assert cut["otherData"]["cut_at_s"] >= slices[-1]["ts"] / 1e6
    assert whole["otherData"]["cut_at_s"] is None
