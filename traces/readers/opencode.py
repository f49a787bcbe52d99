"""OpenCode storage: sessions, messages and parts, each a JSON file of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

from traces.clock import scaled
from traces.conversation import Conversation
from traces.model import Block, HiddenHead, ReasoningBlock, Session, SpawnLink, TextBlock, Times, ToolCallBlock, Usage
from traces.parts import content_text
from traces.pool import json_text
from traces.readers.base import JsonReader, finished
from traces.readlog import ReadLog
from traces.records import Json, as_count, as_dict, documents, first_text
from traces.source import SourceFile

_PART_TYPES = ("text", "reasoning", "tool", "step-start", "step-finish", "patch", "compaction", "file", "snapshot")


@dataclass(slots=True)
class _Storage:
    sessions: dict[str, Json] = field(default_factory=dict)
    messages: dict[str, Json] = field(default_factory=dict)
    parts: dict[str, list[Json]] = field(default_factory=dict)


@dataclass(slots=True)
class _Step:
    """One model call of an assistant message: its blocks, tool parts and closing part."""

    blocks: list[Block] = field(default_factory=list)
    tools: list[Json] = field(default_factory=list)
    end: Json = field(default_factory=dict)


class OpenCodeReader(JsonReader):
    """Reads OpenCode storage folders; parts are found by their message's id or by their folder."""

    name = "opencode"
    title = "OpenCode storage (session, message and part files)"

    def score(self, rows: list[Json]) -> float:
        """A session of a project, a message of a session, or a part of a message."""
        first = rows[0]
        if not isinstance(first.get("id"), str):
            return 0.0
        timed = isinstance(first.get("time"), dict)
        if timed and ("projectID" in first or ("sessionID" in first and "role" in first)):
            return 0.9
        return 0.9 if first.get("type") in _PART_TYPES and ("messageID" in first or timed) else 0.0

    def read(self, files: Sequence[SourceFile], log: ReadLog) -> Iterator[Session]:
        """Yield a session for each session id that has a reply."""
        storage = _Storage()
        loose: list[tuple[SourceFile, Json]] = []
        for file in files:
            for number, value in documents(file, log):
                row = as_dict(value)
                if "id" not in row:
                    log.invalid(file.name, number, "the record has no id", kind="OpenCode record without an id")
                elif "projectID" in row:
                    storage.sessions[str(row["id"])] = row
                elif "role" in row and "sessionID" in row:
                    storage.messages[str(row["id"])] = row
                else:
                    loose.append((file, row))
        for file, part in loose:
            owner = first_text(part.get("messageID")) or PurePath(file.name).parent.name
            if owner in storage.messages:
                storage.parts.setdefault(owner, []).append(part)
            else:
                log.omit("OpenCode part whose message is not among the files")
        yield from _sessions(storage, log)


READER = OpenCodeReader()


def _sessions(storage: _Storage, log: ReadLog) -> Iterator[Session]:
    by_session: dict[str, list[Json]] = {}
    for message in storage.messages.values():
        by_session.setdefault(str(message["sessionID"]), []).append(message)
    for session_id in sorted({*by_session, *storage.sessions}):
        conversation = Conversation(session_id, log)
        for message in sorted(by_session.get(session_id, []), key=_created):
            parts = sorted(storage.parts.get(str(message["id"]), []), key=_id)
            if message.get("role") == "assistant":
                _assistant(conversation, message, parts, log)
            else:
                texts = (first_text(part.get("text")) for part in parts if part.get("type") == "text")
                at_s = _seconds(as_dict(message.get("time")).get("created"))
                conversation.say("user", tuple(TextBlock(text=text) for text in texts if text), at_s)
        parent = first_text(as_dict(storage.sessions.get(session_id)).get("parentID"))
        link = SpawnLink(session_id=parent) if parent else None
        yield from finished(conversation, log, head=HiddenHead(key="opencode"), parent=link)


def _seconds(value: object) -> float | None:
    """A time of OpenCode, which counts milliseconds, in seconds."""
    return scaled(value, 1e3)


def _created(message: Json) -> tuple[float, str]:
    at_s = _seconds(as_dict(message.get("time")).get("created"))
    return (at_s if at_s is not None else 0.0, str(message.get("id")))


def _id(part: Json) -> str:
    """Id of a part: ids grow with time, and not every part has a time."""
    return str(part.get("id"))


def _assistant(conversation: Conversation, message: Json, parts: list[Json], log: ReadLog) -> None:
    """Add the model calls of an assistant message: a step-start part begins each."""
    steps = [_Step()]
    for part in parts:
        kind = part.get("type")
        if kind == "step-start" and (steps[-1].blocks or steps[-1].end):
            steps.append(_Step())
        elif kind == "step-finish":
            steps[-1].end = part
        elif kind in ("text", "reasoning"):
            text = first_text(part.get("text"))
            if text and part.get("synthetic") is not True:
                steps[-1].blocks.append(TextBlock(text=text) if kind == "text" else ReasoningBlock(text=text))
        elif kind == "tool":
            state = as_dict(part.get("state"))
            name, call_id = first_text(part.get("tool")) or "unknown", first_text(part.get("callID"))
            arguments = json_text(state.get("input"))
            steps[-1].blocks.append(ToolCallBlock(name=name, arguments=arguments, call_id=call_id))
            steps[-1].tools.append(part)
        elif kind != "step-start":
            log.omit("OpenCode part that is no text, reasoning or call")
    made = [step for step in steps if step.blocks]
    if not made:
        log.omit("empty reply")
    for step in made:
        _step(conversation, message, step, is_only=len(made) == 1)


def _step(conversation: Conversation, message: Json, step: _Step, *, is_only: bool) -> None:
    time = as_dict(message.get("time"))
    counts = as_dict(step.end.get("tokens")) or (as_dict(message.get("tokens")) if is_only else {})
    sent_s = _seconds(time.get("created")) if is_only else None
    starts = (_seconds(as_dict(as_dict(part.get("state")).get("time")).get("start")) for part in step.tools)
    began = [at_s for at_s in starts if at_s is not None]
    end_s = min(began) if began else (_seconds(time.get("completed")) if is_only else None)
    times = Times(sent_s=sent_s, end_s=end_s)
    conversation.reply(
        step.blocks,
        turn_id=str(message["id"]) if is_only else None,
        usage=_usage(counts),
        times=None if times == Times() else times,
        model=first_text(message.get("modelID"), as_dict(message.get("model")).get("modelID")),
        finish_reason=first_text(step.end.get("reason"), message.get("finish")),
    )
    for part in step.tools:
        state = as_dict(part.get("state"))
        span = as_dict(state.get("time"))
        began_s, ended_s = _seconds(span.get("start")), _seconds(span.get("end"))
        known = began_s is not None and ended_s is not None
        conversation.result(
            content_text(state.get("output", state.get("error"))),
            first_text(part.get("callID")),
            is_error=state.get("status") == "error",
            at_s=ended_s,
            duration_s=ended_s - began_s if known and ended_s is not None and began_s is not None else None,
        )


def _usage(counts: Json) -> Usage:
    """Usage; cache reads and writes stand beside the input, reasoning inside the output unless it exceeds it."""
    cache = as_dict(counts.get("cache"))
    fresh, read, written = as_count(counts.get("input")), as_count(cache.get("read")), as_count(cache.get("write"))
    made, thought = as_count(counts.get("output")), as_count(counts.get("reasoning"))
    if made is not None and thought is not None and thought > made:
        made += thought
    return Usage(
        input_tokens=None if fresh is None else fresh + (read or 0) + (written or 0),
        cached_tokens=read,
        cache_write_tokens=written,
        output_tokens=made,
        reasoning_tokens=thought,
    )
