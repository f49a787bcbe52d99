"""simtool replay as a user meets it: the answer, the files, the errors, the exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

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


def test_the_verdict_comes_first_and_names_what_is_decided(cli) -> None:
    ran = cli("replay", SAMPLE, "--gamma", "4")
    assert ran.code == 0
    first = ran.out.splitlines()[0]
    assert first.startswith("Speculation ")
    assert "gamma 4" in first
    assert "net saving" in first
    for needed in (
        "TTFT p99",
        "C_total",
        "By token class",
        "Law, exact expectation",
        "prefix cache hit rate",
        "Seed 0",
    ):
        assert needed in ran.out


def test_json_on_stdout_is_the_whole_output_and_fits_its_schema(cli) -> None:
    ran = cli("replay", SAMPLE, "--gamma", "2", "--json", "-")
    document = json.loads(ran.out)
    schema = json.loads(cli("schema", "result").out)
    jsonschema.validate(document, schema)
    assert document["trace"]["sessions"] == 11
    assert document["config"]["num_speculative_tokens"]["value"] == 2
    assert {entry["origin"] for entry in document["config"].values()} <= {"declared", "derived", "measured"}


def test_one_seed_gives_one_answer_byte_for_byte(cli, tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert cli("replay", SAMPLE, "--seed", "7", "-q", "-o", str(tmp_path / name)).code == 0
    for file in ("summary.json", "turns.parquet", "baseline_turns.parquet"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
    assert cli("replay", SAMPLE, "--seed", "8", "-q", "-o", str(tmp_path / "c")).code == 0
    assert (tmp_path / "a" / "turns.parquet").read_bytes() != (tmp_path / "c" / "turns.parquet").read_bytes()


def test_the_table_adds_up_to_the_summary(cli, tmp_path: Path) -> None:
    cli("replay", SAMPLE, "-q", "-o", str(tmp_path))
    table = pq.read_table(tmp_path / "turns.parquet").to_pylist()
    summary = json.loads((tmp_path / "summary.json").read_text())["replay"]
    assert len(table) == 118
    assert sum(row["output_tokens"] for row in table) == summary["total_output_tokens"]
    assert sum(row["gpu_s"] for row in table) == pytest.approx(summary["busy_s"], rel=1e-9)
    assert sum(row["num_draft_tokens"] for row in table) == summary["speculation"]["num_draft_tokens"]
    for row in table:
        parts = row["queue_s"] + row["prefill_s"] + row["decode_s"]
        assert parts == pytest.approx(row["e2el_s"], abs=1e-9)
        accepted = sum(row[f"accepted_{name}_tokens"] for name in "SRF")
        assert accepted == row["num_accepted_tokens"]
    assert sum(row["accepted"] for row in table) == 110


def test_results_are_not_overwritten_without_force(cli, tmp_path: Path) -> None:
    assert cli("replay", SAMPLE, "-q", "-o", str(tmp_path)).code == 0
    ran = cli("replay", SAMPLE, "-q", "-o", str(tmp_path))
    assert ran.code == 2
    assert "--force" in ran.err
    assert cli("replay", SAMPLE, "-q", "-o", str(tmp_path), "--force").code == 0


def test_gamma_zero_has_no_figures_of_speculation(cli) -> None:
    document = json.loads(cli("replay", SAMPLE, "--gamma", "0", "--json", "-").out)
    assert document["verdict"] is None
    assert document["replay"]["speculation"] is None
    assert document["baseline"] is None
    assert document["classes"] == document["gamma_curve"] == []


def test_certain_acceptance_and_free_drafts_reach_the_schema_ceiling(cli) -> None:
    """With eps 0 a round emits gamma + 1 tokens, so decode costs at least (gamma + 1) times fewer passes."""
    args = ("--eps", "S=0,R=0,F=0", "--c-t-ms", "20", "--max-concurrency", "1", "--gamma", "4", "--json", "-")
    document = json.loads(cli("replay", SAMPLE, *args).out)
    assert document["replay"]["speculation"]["mean_acceptance_length"] == pytest.approx(5.0, rel=0.02)
    assert document["verdict"]["decode_saving"]["value"] == pytest.approx(0.8, abs=0.01)


def test_hopeless_acceptance_costs_what_the_entropy_floor_says(cli) -> None:
    args = ("--eps", "S=1,R=1,F=1", "--c-t-ms", "20", "--d", "0.1", "--delta", "0.02", "--max-concurrency", "1")
    document = json.loads(cli("replay", SAMPLE, *args, "--gamma", "5", "--json", "-").out)
    # not to the last digit: a sub-agent's session shares some steps with the one that started it
    assert document["verdict"]["decode_saving"]["value"] == pytest.approx(-5 * 0.12, rel=0.02)
    assert document["verdict"]["pays"] is False
    assert document["verdict"]["best_gamma"] == 0


def test_nu_of_two_doubles_decode_and_finds_the_prompt_in_the_cache(cli) -> None:
    one = json.loads(cli("replay", SAMPLE, "--nu", "1", "--gamma", "0", "--json", "-").out)["replay"]
    two = json.loads(cli("replay", SAMPLE, "--nu", "2", "--gamma", "0", "--json", "-").out)["replay"]
    assert two["cost"]["nu"] == pytest.approx(2.0, rel=0.15)
    assert two["prefix_cache_hit_rate_tokens"] > one["prefix_cache_hit_rate_tokens"]
    assert two["cost"]["accepted_turns"] == one["cost"]["accepted_turns"] == 110
    assert two["cost"]["C_total_s"] > 1.5 * one["cost"]["C_total_s"]


def test_without_prefix_cache_nothing_is_hit_and_that_is_said(cli) -> None:
    ran = cli("replay", SAMPLE, "--gamma", "0", "--no-enable-prefix-caching", "--json", "-")
    document = json.loads(ran.out)
    assert document["replay"]["prefix_cache_hit_rate_tokens"] == 0
    assert "the prefix cache was never hit" in document["warnings"]


@pytest.mark.parametrize(
    ("args", "needed"),
    [
        (("--gpu", "H2000"), "H200"),
        (("--model", "Qwen3-31B"), "Qwen3-32B"),
        (("--eps", "X=0.1"), "'X' is no class"),
        (("--eps", "S=1.5"), "within 0 and 1"),
        (("--eps", "S=0.1", "--kappa", "1"), "exclude each other"),
        (("--max-num-seqs", "0"), "max-num-seqs"),
        (("--max-num-batched-tokens", "4", "--max-num-seqs", "8"), "(4)"),
        (("--num-gpu-blocks", "10", "--max-model-len", "4096"), "does not fit in the KV cache"),
        (("--request-rate", "1", "--max-concurrency", "2"), "exclude each other"),
        (("--acceptance-length", "20"), "acceptance length 20"),
        (("--speculative-method", "magic"), "draft_model"),
        (("--nu", "0.5"), "--nu is 0.5"),
        (("--gpu-memory-utilization", "1.5"), "1.5"),
        (("--class-mix", "S=2"), "--class-mix"),
    ],
)
def test_bad_options_name_option_value_and_rule(cli, args: tuple[str, ...], needed: str) -> None:
    ran = cli("replay", SAMPLE, *args)
    assert ran.code in (2, 3)
    assert needed in " ".join(ran.err.replace("│", " ").split())
    assert "Traceback" not in ran.err
    assert ran.out == ""


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"hello\n", "no known recording format"),
        (b'{"timestamp": 1, "input_length": -5, "output_length": 3, "hash_ids": []}\n', "input_length"),
        (b'{"messages": [{"role": "user", "content": "hi"}]}\n{"messages": [{"ro', ":2"),
        (b'{"simtool_trace": 99}\n{"id": "x", "turns": []}\n', "version 99"),
    ],
)
def test_broken_recordings_exit_with_3_and_say_where(cli, tmp_path: Path, content: bytes, reason: str) -> None:
    file = tmp_path / "trace.jsonl"
    file.write_bytes(content)
    ran = cli("replay", str(file))
    assert ran.code == 3
    assert ran.out == ""
    assert str(file) in ran.err
    assert reason in ran.err
    assert "Traceback" not in ran.err


def test_missing_files_exit_with_3(cli, tmp_path: Path) -> None:
    ran = cli("replay", str(tmp_path / "nothing.jsonl"))
    assert ran.code == 3
    assert "no such file" in ran.err


def test_skip_invalid_counts_what_it_leaves_out(cli, tmp_path: Path) -> None:
    good = '{"timestamp": %d, "input_length": 600, "output_length": 20, "hash_ids": [1, %d]}\n'
    file = tmp_path / "mooncake.jsonl"
    file.write_text("".join(good % (i, i + 2) for i in range(5)) + '{"timestamp": "x"}\n')
    assert cli("replay", str(file), "-q").code == 3
    document = json.loads(cli("replay", str(file), "--skip-invalid", "--json", "-").out)
    assert document["trace"]["turns"] == 5
    assert sum(document["omissions"].values()) == 1
    assert any("--class-mix" in text for text in document["assumptions"])


@pytest.mark.parametrize("command", ["replay", "limits", "law-check", "optimize-gamma"])
def test_a_platform_that_can_serve_no_prompt_is_refused_with_what_to_change(cli, command: str) -> None:
    ran = cli(command, SAMPLE, "--max-model-len", "100")
    assert ran.code == 2
    said = " ".join(ran.err.replace("│", " ").split())
    assert "--max-model-len is 100" in said
    assert "none of the 118 prompts fits" in said


def test_the_module_runs_as_a_process() -> None:
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "simtool", "replay", SAMPLE, "-q"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert done.stdout.startswith("Speculation")
    assert done.stderr == ""


def test_narrow_and_wide_windows_keep_the_numbers(cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    narrow = cli("replay", SAMPLE).out
    monkeypatch.setenv("COLUMNS", "160")
    wide = cli("replay", SAMPLE).out
    assert max(map(len, narrow.splitlines())) <= 60
    for text in ("26,405", "C_total", "net of C_total", "over the spread", "sampled"):
        assert text in narrow
        assert text in wide
