"""Counts of the real recordings, made here from the raw lines by message id, against what the reader gives."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.shared import TRACES
from traces.checks import problems
from traces.model import ReasoningBlock, ToolCallBlock
from traces.readlog import ReadLog
from traces.registry import read_sessions, sniff
from traces.source import SourceFile, find_files

_FOLDER = TRACES / "claude-code"


def _replies(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Messages of assistant rows by message id."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in path.read_text().splitlines():
        row = json.loads(line)
        if isinstance(row, dict) and row.get("type") == "assistant":
            found[row["message"]["id"]].append(row["message"])
    return found


def _files() -> list[Path]:
    return [path for path in sorted(_FOLDER.glob("*.jsonl")) if _replies(path)]


@pytest.mark.parametrize("path", _files(), ids=lambda path: path.name[-40:])
def test_each_file_gives_a_turn_a_message_id_with_its_largest_usage(path: Path) -> None:
    replies = _replies(path)
    log = ReadLog(skip_invalid=True)
    sessions = list(read_sessions([str(path)], log))
    turns = [turn for session in sessions for turn in session.turns]
    assert len(turns) == len(replies)
    calls = {b["id"] for rows in replies.values() for row in rows for b in row["content"] if b["type"] == "tool_use"}
    blocks = [block for turn in turns for block in turn.final.output]
    assert {block.call_id for block in blocks if isinstance(block, ToolCallBlock)} == calls
    thoughts = sum(b["type"] == "thinking" for rows in replies.values() for row in rows for b in row["content"])
    assert sum(isinstance(block, ReasoningBlock) for block in blocks) == thoughts
    largest = sum(max((row.get("usage") or {}).get("output_tokens", 0) for row in rows) for rows in replies.values())
    assert sum(turn.final.usage.output_tokens or 0 for turn in turns if turn.final.usage) == largest
    assert [problem for session in sessions for problem in problems(session)] == []


def test_a_prompt_never_has_fewer_tokens_recorded_than_were_cached_and_waits_are_not_negative() -> None:
    for session in read_sessions([str(_FOLDER)], ReadLog(skip_invalid=True)):
        for turn in session.turns:
            assert all(wait.duration_s is None or wait.duration_s >= 0 for wait in turn.tool_waits)
            assert turn.user_wait_s is None or turn.user_wait_s >= 0


def test_the_folder_as_one_trace_counts_each_message_id_once() -> None:
    distinct = {mid for path in _files() for mid in _replies(path)}
    log = ReadLog(skip_invalid=True)
    turns = [turn.id for session in read_sessions([str(_FOLDER)], log) for turn in session.turns]
    assert len(turns) == len(set(turns))
    # One hand-made file reuses the row uuid of another one for a reply of its own.
    assert distinct - set(turns) == {"e"}


def test_the_web_export_is_recognised_by_content() -> None:
    for file in find_files([str(TRACES / "claude-code-transcripts")]):
        assert sniff(file).name == "claude-code"
    both = [
        [turn.final.output for session in read_sessions([file.name], ReadLog()) for turn in session.turns]
        for file in find_files([str(TRACES / "claude-code-transcripts")])
    ]
    assert all(outputs for outputs in both)


def test_no_other_agent_is_taken_for_claude_code() -> None:
    folder = TRACES / "agent-sessions-fixtures"
    for path in sorted(folder.glob("*")):
        if not path.name.startswith(("claude", "subagent")) and path.stat().st_size:
            assert sniff(SourceFile(path, path.name)).name != "claude-code", path.name
