"""Options that recordings without text and recordings that must not be shown need."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.shared import AGENT_LOOP
from tests.simtool.run import Ran, simtool

SAMPLE = str(AGENT_LOOP)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    def run(*args: str) -> Ran:
        return simtool(capsys, monkeypatch, *args)

    return run


def test_a_replay_takes_classes_from_another_recording(cli, tmp_path: Path) -> None:
    trace = tmp_path / "lengths.jsonl"
    rows = [{"timestamp": 10 * at, "input_length": 600, "output_length": 2000} for at in range(20)]
    trace.write_text("\n".join(map(json.dumps, rows)))
    labels = tmp_path / "labels.parquet"
    assert cli("tag", SAMPLE, "--parquet", str(labels)).code == 0
    shares = {}
    for source in (SAMPLE, str(labels)):
        document = json.loads(cli("replay", str(trace), "--mix-from", source, "--json", "-").out)
        shares[source] = {row["label"]: row["share"] for row in document["classes"] if row["label"] in "SRF"}
        assert any("drawn as in" in note for note in document["assumptions"])
    assert shares[SAMPLE] == shares[str(labels)]
    tagged = json.loads(cli("tag", SAMPLE, "--json", "-").out)["outputs"]
    assert shares[SAMPLE] == pytest.approx({name: tagged[f"w_{name}"] for name in "SRF"}, abs=0.05)


def test_two_sources_of_classes_are_refused(cli) -> None:
    ran = cli("tag", SAMPLE, "--mix-from", SAMPLE, "--class-mix", "F=1")
    assert ran.code == 3
    assert "give one" in ran.err


def test_an_anonymized_trace_is_a_trace(cli, tmp_path: Path) -> None:
    target = str(tmp_path / "out.jsonl.zst")
    ran = cli("convert", SAMPLE, target, "--anonymize")
    assert (ran.code, ran.out) == (0, f"11 sessions written to {target}\n")
    ours, theirs = (json.loads(cli("replay", path, "--gamma", "0", "--json", "-").out) for path in (target, SAMPLE))
    assert ours["replay"] == theirs["replay"]
    found = json.loads(cli("validate", target, "--json", "-").out)
    assert found["turns_by_model"].keys() <= {"m1", "m2", "not recorded"}
    assert (found["tool_calls"], found["turns_with_lengths_only"]) == (0, 110)


def test_options_of_anonymizing_that_do_nothing_are_refused(cli, tmp_path: Path) -> None:
    target = str(tmp_path / "out.jsonl")
    for args in (["--keep-tool-names"], ["--anonymize-salt", "x"], ["--anonymize", "--to", "mooncake"]):
        assert cli("convert", SAMPLE, target, *args).code == 2
        assert not Path(target).exists()


def test_columns_of_a_table_are_named_with_its_format(cli, tmp_path: Path) -> None:
    table = tmp_path / "requests.csv"
    table.write_text("When,Size,Answer\n1,10,4\n2,20,5\n")
    assert cli("validate", str(table)).code == 3
    ran = cli("validate", str(table), "--format", "csv:arrival=When,input=Size,output=Answer", "--json", "-")
    assert json.loads(ran.out)["recorded_tokens"]["input_tokens"] == 30
