"""Recorded completion text: the format is detected, named, or declared in a file of the user's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.simtool.run import Ran, simtool
from tests.tokenclass.declared import DECLARED

OWN = (
    "<acme:think>Which town?</acme:think>"
    '<acme:calls><call name="look_up"><arg name="city">Ulm</arg></call></acme:calls>'
)
HERMES = '<tool_call>\n{"name": "look_up", "arguments": {"city": "Ulm"}}\n</tool_call>'
HARMONY = (
    "<|channel|>analysis<|message|>Which town?<|end|><|start|>assistant<|channel|>commentary to=functions.look_up "
    '<|constrain|>json<|message|>{"city": "Ulm"}<|call|>'
)
IN_THINKING = "<think>\nI draft <tool_call>\n" + HERMES.split("\n")[1] + "\n</tool_call> and go on.\n</think>\n\nDone."


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    def run(*args: str) -> Ran:
        return simtool(capsys, monkeypatch, *args)

    return run


def recording(folder: Path, *completions: str) -> str:
    """A canonical trace of one session a completion."""
    lines = [{"simtool_trace": 1}]
    for number, text in enumerate(completions):
        attempt = {"output": [{"type": "raw", "text": text}]}
        turn = {"id": "t", "prompt": {"type": "length", "tokens": 50}, "attempts": [attempt]}
        lines.append({"id": f"s{number}", "turns": [turn]})
    file = folder / "raw.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(file)


def test_the_format_is_detected_and_said(cli, tmp_path: Path) -> None:
    ran = cli("tag", recording(tmp_path, HERMES, HERMES), "--json", "-")
    assert ran.code == 0
    assert any("detected: hermes" in note for note in json.loads(ran.out)["assumptions"])


def test_a_mixed_trace_is_read_in_both_of_its_formats(cli, tmp_path: Path) -> None:
    trace = recording(tmp_path, HERMES, HARMONY, HERMES, HARMONY)
    report = json.loads(cli("tag", trace, "--json", "-").out)
    (note,) = [note for note in report["assumptions"] if "detected" in note]
    assert "hermes" in note
    assert "harmony" in note
    for session in "12":
        assert "[S:N look_up]" in cli("tag", trace, "--show", f"{session}/1").out


def test_a_format_of_the_users_own_is_read_from_a_file(cli, tmp_path: Path) -> None:
    file = tmp_path / "acme.toml"
    file.write_text(DECLARED)
    trace = recording(tmp_path, OWN)
    own = json.loads(cli("tag", trace, "--format-file", str(file), "--json", "-").out)
    other = json.loads(cli("tag", trace, "--output-format", "hermes", "--json", "-").out)
    assert own != other
    shown = cli("tag", trace, "--format-file", str(file), "--show", "1/1").out
    assert "[S:N look_up]" in shown
    assert "[S:T Ulm]" in shown
    assert "[R <acme:think>" in shown


def test_a_wrong_declaration_names_file_and_key(cli, tmp_path: Path) -> None:
    file = tmp_path / "acme.toml"
    file.write_text('name = "acme"\n[calls]\nkind = "nothing"\n')
    ran = cli("replay", recording(tmp_path, OWN), "--format-file", str(file))
    assert ran.code == 3
    assert str(file) in ran.err


def test_what_ends_an_open_reasoning_block_can_be_chosen(cli, tmp_path: Path) -> None:
    trace = recording(tmp_path, IN_THINKING)
    strict = cli("tag", trace, "--output-format", "qwen3", "--show", "1/1").out
    engine = cli("tag", trace, "--output-format", "qwen3", "--reasoning-end", "tool-token", "--show", "1/1").out
    assert "[S:N look_up]" not in strict
    assert "[S:N look_up]" in engine
