"""Where options come from: scenario file, then SIMTOOL_* variables, then flags."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from simtool.app import app
from tests.simtool.run import Ran, simtool


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    def run(*args: str) -> Ran:
        return simtool(capsys, monkeypatch, *args)

    return run


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    path = tmp_path / "mine.toml"
    path.write_text('[trace]\nfiles = "sample"\n[engine]\nmax_num_seqs = 3\nmax_num_batched_tokens = 4096\n')
    return str(path)


def sources(text: str) -> dict[str, str]:
    return {
        line.split(" = ")[0]: line.rsplit("# ", 1)[1]
        for line in text.splitlines()
        if " = " in line and "# " in line and not line.startswith("#")
    }


def test_flags_go_before_variables_and_variables_before_the_file(
    cli, scenario: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIMTOOL_MAX_NUM_SEQS", "5")
    monkeypatch.setenv("SIMTOOL_BLOCK_SIZE", "32")
    ran = cli("replay", "--config", scenario, "--block-size", "64", "--print-config")
    assert ran.code == 0
    found = tomllib.loads(ran.out)
    assert (found["engine"]["max_num_seqs"], found["cache"]["block_size"]) == (5, 64)
    assert found["engine"]["max_num_batched_tokens"] == 4096
    origin = sources(ran.out)
    assert origin["max_num_seqs"] == "environment"
    assert origin["block_size"] == "flag"
    assert origin["max_num_batched_tokens"] == "scenario file"
    assert origin["gpu"] == "default"


def test_a_replay_of_a_scenario_is_the_replay_of_its_options(cli, scenario: str, tmp_path: Path) -> None:
    by_flags = cli("replay", "sample", "--max-num-seqs", "3", "--max-num-batched-tokens", "4096", "--json", "-")
    by_file = cli("replay", "--config", scenario, "--json", "-")
    shown = cli("replay", "--config", scenario, "--print-config").out
    again = tmp_path / "again.toml"
    again.write_text(shown)
    by_print = cli("replay", "--config", str(again), "--json", "-")
    assert by_flags.out == by_file.out == by_print.out
    assert json.loads(by_file.out)["config"]["max_num_seqs"]["value"] == 3


def test_the_sample_by_name_is_the_shipped_file(cli) -> None:
    from tests.shared import AGENT_LOOP

    named, stored = (json.loads(cli("replay", source, "--json", "-").out) for source in ("sample", str(AGENT_LOOP)))
    assert named == stored


def test_an_arm_is_a_recording_by_name(cli) -> None:
    tagged = json.loads(cli("tag", "arm:A", "--json", "-").out)
    assert tagged["outputs"]["w_F"] == 1.0
    ran = cli("tag", "arm:E")
    assert ran.code == 3
    assert "arm:A" in ran.err


def test_a_faulty_scenario_exits_with_3_and_names_the_line(cli, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("engine:\n  max_num_seq: 3\n")
    ran = cli("replay", "--config", str(path), "sample")
    assert ran.code == 3
    assert f"{path}:2: " in ran.err
    assert "max_num_seqs" in ran.err


@pytest.mark.parametrize(
    ("variable", "value"), [("SIMTOOL_MAX_NUM_SEQS", "many"), ("SIMTOOL_KAPPA", "-2"), ("SIMTOOL_TOOL_WAITS", "x")]
)
def test_a_bad_variable_is_a_usage_error(cli, monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    monkeypatch.setenv(variable, value)
    ran = cli("replay", "sample")
    assert ran.code == 2
    said = " ".join(ran.err.replace("│", " ").split())
    assert variable in said
    assert value in said


@pytest.mark.parametrize(
    ("flag", "value", "says"),
    [
        ("--max-num-seqs", "many", "whole number"),
        ("--kappa", "-2", "at least 0"),
        ("--rho-s", "1.5", "within 0 and 1"),
        ("--tool-waits", "sometimes", "recorded, scaled, drawn"),
        ("--reasoning-end", "soon", "strict, tool-token"),
    ],
)
def test_a_bad_value_is_named_with_its_flag_and_range(cli, flag: str, value: str, says: str) -> None:
    ran = cli("replay", "sample", flag, value)
    assert ran.code == 2
    said = " ".join(ran.err.replace("│", " ").split())
    assert f"{flag} is " in said
    assert value in said
    assert says in said


def test_names_complete(cli) -> None:
    import typer

    group = typer.main.get_command(app)
    command = group.commands["replay"]  # type: ignore[attr-defined]
    context = typer.Context(command)
    found = {}
    for parameter in command.params:
        found[parameter.name] = [item.value for item in parameter.shell_complete(context, "")]
    assert "H200" in found["gpu"]
    assert "Qwen3-32B" in found["model"]
    assert "paper-platform" in found["config"]
    assert "hermes" in found["tool_call_format"]
    assert "prefix-aware" in found["router"]
    assert found["tool_waits"] == ["recorded", "scaled", "drawn"]


def test_every_command_that_reads_takes_the_same_reading_options() -> None:
    import typer

    group = typer.main.get_command(app)
    reading = {"format", "skip_invalid", "tokenizer", "output_format", "format_file", "reasoning_end", "mix_from"}
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        names = {parameter.name for parameter in command.params}
        if "traces" in names:
            assert reading <= names, name


def test_scenarios_are_listed_shown_and_explained(cli) -> None:
    assert "paper-platform" in cli("scenarios", "list").out
    shown = tomllib.loads(cli("scenarios", "show", "arm-b").out)
    assert shown["trace"]["files"] == ["arm:B"]
    assert shown["sweep"]["axes"]["gamma"] == [0, 4, 8, 16]
    assert "SIMTOOL_GPU" in cli("scenarios", "keys", "engine").out
    rows = json.loads(cli("scenarios", "keys", "--json", "-").out)
    assert {"gamma", "gpu", "goodput"} <= {row["key"] for row in rows}
    assert json.loads(cli("schema", "scenario").out)["additionalProperties"] is False
