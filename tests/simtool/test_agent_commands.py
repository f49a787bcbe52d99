"""The commands on agents, retries and the protocol, from the command line."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from tests.shared import AGENT_LOOP
from tests.simtool.run import simtool

TRACE = str(AGENT_LOOP)


def ran(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *args: str) -> str:
    result = simtool(capsys, monkeypatch, *args)
    assert result.code == 0, result.err
    return result.out


@pytest.mark.parametrize(
    ("args", "found"),
    [
        (("composition", TRACE, "--nu", "1.3", "--regression", "gate=0.003"), "cache + speculation + resampling"),
        (("spork", TRACE), "last calls again"),
        (("sessions", TRACE, "--gate", "call=0.9,answer=0.9", "--gamma", "4"), "By task"),
        (("limits", TRACE), "batch at which s turns negative"),
    ],
)
def test_a_command_prints_its_answer(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...], found: str
) -> None:
    assert found in ran(capsys, monkeypatch, *args)
    document = orjson.loads(ran(capsys, monkeypatch, *args, "--json", "-"))
    assert document


def test_a_day_s_profile_is_read_from_its_file(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    day = tmp_path / "day.txt"
    day.write_text("0.01\n0\n0.05\n")
    answer = orjson.loads(ran(capsys, monkeypatch, "replay", TRACE, "--arrival-profile", str(day), "--json", "-"))
    assert answer["config"]["load"]["value"] == "profile"
    assert answer["replay"]["duration_s"] > 3600


def test_synth_writes_a_trace_that_replays(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    out = str(tmp_path / "synthetic.jsonl")
    args = ("synth", TRACE, "--out", out, "--sessions", "8")
    assert "Source and synthetic" in ran(capsys, monkeypatch, *args)
    assert simtool(capsys, monkeypatch, *args).code == 2
    assert "Speculation" in ran(capsys, monkeypatch, "replay", out, "-q")
    declared = str(tmp_path / "declared.jsonl")
    ran(capsys, monkeypatch, "synth", "--out", declared, "--sessions", "4", "--w-s", "0.4", "--lengths-only")
    assert "Speculation" in ran(capsys, monkeypatch, "replay", declared, "-q")


def test_protocol_runs_and_checks(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = str(tmp_path / "protocol")
    args = ("--sessions", "8", "--gamma", "4", "--batch", "1")
    assert "cannot confirm" in ran(capsys, monkeypatch, "protocol", "run", folder, *args).replace("\n", " ")
    assert "Rulings" in ran(capsys, monkeypatch, "protocol", "check", f"{folder}/results.json")
    assert simtool(capsys, monkeypatch, "protocol", "run", folder, *args, "--seed", "1").code == 3


@pytest.mark.parametrize(
    ("option", "value"),
    [("--gate", "call=3"), ("--tool-waits", "scaled"), ("--tool-waits", "other"), ("--sub-agents", "both")],
)
def test_options_out_of_range_exit_with_2(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, option: str, value: str
) -> None:
    result = simtool(capsys, monkeypatch, "replay", TRACE, option, value)
    assert result.code == 2
    assert option in result.err
