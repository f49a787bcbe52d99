"""simtool validate: what its reader sees."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from tests.shared import AGENT_LOOP
from tests.simtool.run import Ran, simtool
from tests.tokenclass.sessions import one_turn
from traces.model import OpaqueBlock, TextBlock, ToolCallBlock
from traces.prefixes import PrefixReuse
from traces.readlog import ReadLog
from traces.registry import read_sessions

SAMPLE = str(AGENT_LOOP)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    def run(*args: str, columns: int = 100) -> Ran:
        monkeypatch.setenv("COLUMNS", str(columns))
        return simtool(capsys, monkeypatch, *args)

    return run


def trace(path: Path, *blocks: object) -> str:
    session = one_turn(*blocks)  # type: ignore[arg-type]
    path.write_bytes(b'{"simtool_trace":1}\n' + msgspec.json.encode(session))
    return str(path)


def section(text: str, title: str) -> list[str]:
    """The lines under a title."""
    return text.split(f"\n{title}\n", 1)[1].split("\n\n", 1)[0].splitlines()


@pytest.mark.parametrize("columns", [60, 120])
def test_lines_fit_the_window_and_say_the_same(cli, columns: int) -> None:
    ran = cli("validate", SAMPLE, columns=columns)
    assert ran.code == 0
    assert max(map(len, ran.out.splitlines())) <= columns
    assert "canonical (1 file)" in ran.out
    words = " ".join(ran.out.split())
    assert "8 attempts that were rejected" in words or "attempts that were rejected 8" in words


def test_outputs_are_shared_out_by_class(cli) -> None:
    document = json.loads(cli("validate", SAMPLE, "--json", "-").out)
    counted = {"S": 0, "R": 0, "F": 0}
    for session in read_sessions([SAMPLE], ReadLog()):
        for block in (block for turn in session.turns for block in turn.final.output):
            kind = {"tool_call": "S", "reasoning": "R", "text": "F"}[type(block).__struct_config__.tag]
            counted[kind] += sum(len(getattr(block, name, "") or "") for name in ("name", "arguments", "text"))
    found = document["output"]
    assert counted == {
        "S": found["call_characters"],
        "R": found["reasoning_characters"],
        "F": found["prose_characters"],
    }
    assert found["tokens_without_text"] == {}
    assert document["formats"] == {"canonical": 1}


def test_tokens_without_text_are_counted_by_class(cli, tmp_path: Path) -> None:
    blocks = [OpaqueBlock(tokens=5, label="K"), OpaqueBlock(tokens=7, label="S"), OpaqueBlock(tokens=11)]
    path = trace(tmp_path / "lengths.jsonl", *blocks)
    document = json.loads(cli("validate", path, "--json", "-").out)
    assert document["output"]["tokens_without_text"] == {"S": 12, "unknown": 11}
    assert "11 of no known class (replay them with --class-mix or --mix-from)" in cli("validate", path, columns=160).out


def test_what_is_not_there_takes_no_lines(cli, tmp_path: Path) -> None:
    out = cli("validate", trace(tmp_path / "bare.jsonl", TextBlock(text="Yes."))).out
    assert "Recorded" not in out
    assert "Tool calls" not in out
    assert "sub-agents" not in out
    assert section(out, "Found")[0].split() == ["format", "canonical", "(1", "file)"]


def test_names_in_a_recording_do_not_steer_the_terminal(cli, tmp_path: Path) -> None:
    path = trace(tmp_path / "odd.jsonl", ToolCallBlock(name="look\x1b[31m\nup[bold]", arguments="{}"))
    out = cli("validate", path).out
    assert "\x1b" not in out
    assert "look\\x1b[31m\\nup[bold]" in out


def test_an_estimate_over_part_of_a_trace_says_so(cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("traces.prefixes.MAX_PREFIXES", 50)
    reuse = PrefixReuse()
    for session in read_sessions([SAMPLE], ReadLog()):
        reuse.add(session)
    assert 0 < reuse.sessions < 11
    assert f"by the first {reuse.sessions} sessions" in cli("validate", SAMPLE, columns=160).out
