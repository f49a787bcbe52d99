"""Rows of Claude Code recordings: session files, web exports, and the stream-json output of the command line."""

from __future__ import annotations

import re
from collections.abc import Iterator

from traces.readers.base import stem
from traces.readlog import ReadLog
from traces.records import Json, as_dict, as_list, dicts, documents, first_text, head_values
from traces.source import SourceFile

_AGENT_FILE = re.compile(r"agent-([0-9A-Za-z_-]+)$")
_KINDS = ("user", "assistant", "system", "summary", "result")
_MARKS = ("uuid", "sessionId", "session_id", "parentUuid", "parent_tool_use_id")


def claude_rows(file: SourceFile, log: ReadLog) -> Iterator[tuple[int | None, Json]]:
    """Yield (line, row) of a file of lines, an array, or an object with ``loglines``."""
    for line, value in documents(file, log):
        members = as_list(value["loglines"]) if isinstance(value, dict) and "loglines" in value else value
        for member in members if isinstance(members, list) else [members]:
            if isinstance(member, dict):
                yield line, member
            else:
                log.invalid(file.name, line, "the row is no JSON object", kind="line that is no JSON object")


def session_of(row: Json, default: str) -> str:
    """Id of the session that *row* belongs to; that of its root session for a sub-agent's row."""
    return first_text(row.get("sessionId"), row.get("session_id")) or default


def agent_of(row: Json, file: SourceFile) -> str | None:
    """Id of the sub-agent that *row* names; None where it names none or belongs to the main thread."""
    spawned = first_text(row.get("parent_tool_use_id"))
    if spawned is not None:
        return spawned
    if row.get("isSidechain") is not True:
        return None
    named = _AGENT_FILE.search(stem(file))
    return first_text(row.get("agentId"), named.group(1) if named else None)


def first_session(file: SourceFile) -> str:
    """Session named by the first row that names one; the file's name without any."""
    for row in _head_rows(file.head()):
        name = first_text(row.get("sessionId"), row.get("session_id"))
        if name is not None:
            return name
    return stem(file)


def confidence(head: bytes) -> float:
    """How sure the rows in *head* are Claude Code's."""
    rows = _head_rows(head)
    for row in rows:
        kind = row.get("type")
        if kind not in ("user", "assistant") or "content" not in as_dict(row.get("message")):
            continue
        if any(mark in row for mark in _MARKS):
            return 0.93
        if "timestamp" in row:
            return 0.93 if _enveloped(head) else 0.7
    known = [row for row in rows if row.get("type") in _KINDS and sum(mark in row for mark in _MARKS) >= 2]
    return 0.6 if known and not any("payload" in row or "data" in row for row in known) else 0.0


def _head_rows(head: bytes) -> list[Json]:
    rows: list[Json] = []
    for value in head_values(head):
        if isinstance(value, dict) and isinstance(value.get("loglines"), list):
            rows += dicts(value["loglines"])
        elif isinstance(value, list):
            rows += dicts(value)
        elif isinstance(value, dict):
            rows.append(value)
    return rows


def _enveloped(head: bytes) -> bool:
    return any(isinstance(value, dict) and "loglines" in value for value in head_values(head))
