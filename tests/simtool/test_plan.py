"""``simtool plan`` and ``simtool whatif-w-s`` from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.shared import AGENT_LOOP
from tests.simtool.run import Ran, simtool

TRACE = str(AGENT_LOOP)
SMALL = (
    *("--gpus", "H200,L40S", "--tensor-parallel", "1", "--gammas", "0", "--router", "least-loaded"),
    *("--max-requests", "900", "--jobs", "1"),
)
Cli = Callable[..., Ran]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.setenv("COLUMNS", "160")

    def run(*args: str) -> Ran:
        return simtool(capsys, monkeypatch, *args)

    return run


def test_a_plan_is_printed_and_written(cli: Cli) -> None:
    args = ("plan", TRACE, "--sessions-per-s", "0.1", "--target", "ttft:p99:3000", *SMALL)
    ran = cli(*args)
    assert ran.code == 0, ran.err
    assert ran.out.startswith("Least money: ")
    assert "ttft p99 <= 3000" in ran.out
    assert "L40S tp1 gamma 0: Qwen3-32B (65.5 GB of weights) do not fit" in ran.out
    document = json.loads(cli(*args, "--json", "-").out)
    best = document["rows"][document["cheapest"]]
    assert best["gpu"] == "H200"
    assert best["sized"]["at_rate"]["targets"][0]["met"] is True
    assert document["traffic"]["requests"] > 0


def test_a_scenario_and_the_environment_say_what_is_planned_with(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "own.toml"
    file.write_text('[engine]\ngpu = "H100-SXM"\ntensor_parallel_size = 2\n[speculation]\ngamma = 0\n')
    args = ("plan", TRACE, "--config", str(file), "--sessions-per-s", "0.1", "--target", "ttft:p99:9000")
    more = ("--router", "least-loaded", "--max-requests", "400", "--jobs", "1")
    ran = cli(*args, *more)
    assert "1 x H100-SXM tp2 gamma 0" in ran.out
    assert "gpu is H100-SXM alone, as scenario or environment have it; --gpus compares others" in ran.out
    rows = json.loads(cli(*args, *more, "--gpus", "H200", "--json", "-").out)["rows"]
    assert [(row["gpu"], row["tensor_parallel_size"], row["gamma"]) for row in rows] == [("H200", 2, "0")]
    monkeypatch.setenv("SIMTOOL_GPU", "H200")
    rows = json.loads(cli(*args, *more, "--json", "-").out)["rows"]
    assert [(row["gpu"], row["tensor_parallel_size"]) for row in rows] == [("H200", 2)]


def test_goodput_is_a_target_too(cli: Cli) -> None:
    args = ("--goodput", "ttft:3000,tpot:60", "--slo-attainment", "0.9")
    document = json.loads(cli("plan", TRACE, "--request-rate", "1", *args, *SMALL, "--json", "-").out)
    assert document["targets"] == ["goodput (ttft:3000 tpot:60) >= 0.9"]
    assert document["rows"][0]["sized"]["at_rate"]["targets"][0]["value"] >= 0.9


def test_targets_out_of_reach_exit_with_4(cli: Cli) -> None:
    args = ("plan", TRACE, "--sessions-per-s", "0.1", "--target", "tpot:p99:1", *SMALL)
    assert cli(*args).code == 0
    ran = cli(*args, "--fail-on-slo")
    assert ran.code == 4
    assert "No candidate meets the targets" in ran.out
    assert "idle replica: tpot p99" in ran.out


def test_gpus_available_say_how_much_load_they_take(cli: Cli) -> None:
    ran = cli("plan", TRACE, "--gpus-available", "1", "--target", "tpot:p95:60", *SMALL)
    assert ran.code == 0, ran.err
    assert ran.out.startswith("1 GPU: at most ")
    assert "1 x H200 tp1 gamma 0" in ran.out


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("--sessions-per-s", "1"), "--target"),
        (("--target", "ttft:p99:2000"), "--sessions-per-s"),
        (("--sessions-per-s", "1", "--target", "ttf:p99:1"), "'ttf' is not one of"),
        (("--sessions-per-s", "1", "--target", "ttft:p99:1", "--gpus", "H2000"), "H2000"),
    ],
)
def test_usage_errors(cli: Cli, args: tuple[str, ...], says: str) -> None:
    ran = cli("plan", TRACE, *args)
    assert ran.code == 2
    assert says in ran.err


def test_moving_w_s_has_a_price(cli: Cli) -> None:
    args = ("whatif-w-s", TRACE, "--w-s-from", "0.7", "--gamma", "4")
    assert "w_S from 70.0 % to 40.0 % at gamma 4: saves" in cli(*args, "--w-s-to", "0.4").out.replace("\n", " ")
    document = json.loads(cli(*args, "--w-s-to", "0.4", "--json", "-").out)
    before, after = document["before"], document["after"]
    assert (before["w_S"], after["w_S"]) == (pytest.approx(0.7, abs=2e-3), pytest.approx(0.4, abs=2e-3))
    assert after["output_tokens_per_turn"] < before["output_tokens_per_turn"]
    expected = 1 - after["C_total_s"] / before["C_total_s"]
    assert document["saved"]["value"] == pytest.approx(expected, abs=1e-9)
    same = json.loads(cli(*args, "--w-s-to", "0.7", "--json", "-").out)
    assert same["saved"] == {"value": 0.0, "low": 0.0, "high": 0.0}
    ran = cli(*args, "--w-s-to", "1")
    assert (ran.code, "--w-s-to is 1" in ran.err) == (2, True)
