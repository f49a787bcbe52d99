"""Codex rollouts: rows of {timestamp, type, payload}, or bare items in the oldest files.

A model call is a run of items that the model made, closed by an input item or by a token count. Event rows
repeat what the items say, so only their token counts are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from traces.clock import unix_seconds
from traces.conversation import Conversation, text_blocks
from traces.model import Block, HiddenHead, Message, Session, SpawnLink, Times, Usage
from traces.readers.base import JsonReader, finished, stem
from traces.readers.response_items import add_input, is_output, is_result, output_blocks
from traces.readlog import ReadLog
from traces.records import Json, as_count, as_dict, as_text, dicts, first_text, objects
from traces.source import SourceFile

_ENVELOPE = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
_PLAIN_NOTES = ("ghost_snapshot", "compaction_trigger", "error", "other")
_COUNTS = (
    "input_tokens",
    "cached_input_tokens",
    "cache_write_input_tokens",
    "output_tokens",
    "reasoning_output_tokens",
)


_Seen = set[tuple[object, ...]]
"""Calls with usage, by cumulative totals and output: what a copied row repeats."""


@dataclass(slots=True)
class _State:
    """What is known while the rows of one file go by."""

    conversation: Conversation
    meta: Json = field(default_factory=dict)
    model: str | None = None
    pending: list[Block] = field(default_factory=list)
    sent_s: float | None = None
    end_s: float | None = None
    totals: Json = field(default_factory=dict)
    counted: bool = True
    usage_only: int = 0


class CodexReader(JsonReader):
    """Reads Codex session files."""

    name = "codex"
    title = "Codex CLI rollout JSONL, with and without the envelope"

    def score(self, rows: list[Json]) -> float:
        """Rows of Codex types with a payload, or bare Responses items with a timestamp."""
        if any(row.get("type") in _ENVELOPE and isinstance(row.get("payload"), dict) for row in rows):
            return 0.95
        bare = [row for row in rows if "payload" not in row and "message" not in row and "timestamp" in row]
        spoken = any(row.get("role") in ("user", "assistant") and "content" in row for row in bare)
        called = any(row.get("type") in ("function_call", "tool_call") and "arguments" in row for row in bare)
        foreign = any("session_id" in row or "sessionId" in row or "input" in row for row in bare)
        return 0.6 if (spoken or called) and not foreign else 0.0

    def read(self, files: Sequence[SourceFile], log: ReadLog) -> Iterator[Session]:
        """Yield one session a file; calls that another file already holds (forks, resumes) are not repeated."""
        seen: _Seen = set()
        for file in files:
            yield from _read_file(file, log, seen)


READER = CodexReader()


def _read_file(file: SourceFile, log: ReadLog, seen: _Seen) -> Iterator[Session]:
    state = _State(Conversation(stem(file), log))
    for _, row in objects(file, log):
        at_s = unix_seconds(row.get("timestamp"))
        if at_s is None and "timestamp" in row:
            log.assume("Codex row without a readable time")
        payload = as_dict(row.get("payload")) if "payload" in row else row
        _row(state, str(row.get("type")), payload, at_s, log, seen)
    _close(state, log, seen)
    if state.usage_only:
        log.omit("Codex turn that is only a usage total (a sum over several calls)", state.usage_only)
        return
    head = _head(state.meta, state.conversation.id)
    yield from finished(state.conversation, log, head=head, parent=_parent(state.meta), agent=_agent(state.meta))


def _row(state: _State, kind: str, payload: Json, at_s: float | None, log: ReadLog, seen: _Seen) -> None:
    if kind == "session_meta":
        _meta(state, payload, log)
    elif kind == "turn_context":
        state.model = first_text(payload.get("model")) or state.model
    elif kind == "compacted":
        _close(state, log, seen)
        _compact(state, payload, log)
    elif kind == "event_msg":
        _event(state, payload, log, seen)
    elif kind == "response_item" or "role" in payload or is_output(payload) or is_result(payload):
        _item(state, payload, at_s, log, seen)
    else:
        log.omit("Codex row that is no message, call or result")


def _meta(state: _State, payload: Json, log: ReadLog) -> None:
    if state.meta:
        log.duplicate("Codex session header copied into another session")
        return
    state.meta = payload
    state.conversation.id = first_text(payload.get("id")) or state.conversation.id
    base = as_dict(payload.get("base_instructions")).get("text")
    state.conversation.say("system", text_blocks(first_text(base, payload.get("instructions"))))


def _event(state: _State, payload: Json, log: ReadLog, seen: _Seen) -> None:
    if payload.get("type") == "turn.completed":
        state.usage_only += 0 if state.conversation.turns else 1
        return
    if payload.get("type") != "token_count":
        return
    info = as_dict(payload.get("info"))
    totals, last = as_dict(info.get("total_token_usage")), as_dict(info.get("last_token_usage"))
    if not totals and not last:
        return
    if totals and totals == state.totals:
        log.duplicate("Codex token count with unchanged totals")
        return
    usage = _usage(last or _difference(totals, state.totals))
    state.totals = totals
    if state.pending:
        _close(state, log, seen, usage)
    elif state.counted:
        log.omit("Codex token count without its call")
    else:
        state.conversation.amend_usage(usage)
        state.counted = True


def _item(state: _State, item: Json, at_s: float | None, log: ReadLog, seen: _Seen) -> None:
    state.conversation.seen_at(at_s)
    if is_output(item):
        state.model = first_text(item.get("model")) or state.model
        state.pending += output_blocks(item, log)
        state.end_s = at_s if at_s is not None else state.end_s
        return
    if item.get("type") in _PLAIN_NOTES:
        return
    _close(state, log, seen)
    if item.get("type") == "agent_message":
        item = {**item, "type": "message", "role": "user"}
    state.model = first_text(item.get("model")) or state.model
    if not add_input(state.conversation, item, log, at_s):
        log.omit("Codex item that is no message, call or result")
    state.sent_s = at_s


def _close(state: _State, log: ReadLog, seen: _Seen, usage: Usage | None = None) -> None:
    """End the call whose items are pending; a call known from another file joins the history only."""
    if not state.pending:
        return
    blocks, state.pending = tuple(state.pending), []
    times = Times(sent_s=state.sent_s, end_s=state.end_s)
    state.sent_s = state.end_s
    key = (tuple(sorted((name, str(value)) for name, value in state.totals.items())), blocks)
    if usage is not None and key in seen:
        log.duplicate("Codex call copied from another session")
        state.conversation.history.append(Message(role="assistant", blocks=blocks))
        return
    if usage is not None:
        seen.add(key)
    state.conversation.reply(blocks, usage=usage, times=None if times == Times() else times, model=state.model)
    state.counted = usage is not None


def _compact(state: _State, payload: Json, log: ReadLog) -> None:
    """Replace the history by what the compaction kept; the summarising call itself is not in the file."""
    conversation = state.conversation
    kept = dicts(payload.get("replacement_history"))
    users = [message for message in conversation.history if message.role in ("system", "developer", "user")]
    conversation.history = [m for m in conversation.history if m.role == "system"] if kept else users
    for item in kept:
        if is_output(item):
            conversation.say("assistant", output_blocks(item, log))
        else:
            add_input(conversation, item, log)
    if not kept:
        conversation.say("user", text_blocks(as_text(payload.get("message"))))
    log.omit("Codex compaction call, recorded without its usage")


def _usage(counts: Json) -> Usage:
    values = {name: as_count(counts.get(name)) for name in _COUNTS}
    return Usage(
        input_tokens=values["input_tokens"],
        cached_tokens=values["cached_input_tokens"],
        cache_write_tokens=values["cache_write_input_tokens"],
        output_tokens=values["output_tokens"],
        reasoning_tokens=values["reasoning_output_tokens"],
    )


def _difference(totals: Json, before: Json) -> Json:
    """Counts of one call from cumulative ones; totals that fell have started anew."""
    now = {name: as_count(totals.get(name)) or 0 for name in _COUNTS if name in totals}
    then = {name: as_count(before.get(name)) or 0 for name in now}
    if any(now[name] < then[name] for name in now):
        return dict(now)
    return {name: now[name] - then[name] for name in now}


def _head(meta: Json, session_id: str) -> HiddenHead:
    version = first_text(meta.get("cli_version"))
    return HiddenHead(key=f"codex {version}" if version else f"codex session {session_id}")


def _parent(meta: Json) -> SpawnLink | None:
    spawned = as_dict(as_dict(as_dict(meta.get("source")).get("subagent")).get("thread_spawn"))
    parent = first_text(spawned.get("parent_thread_id"), meta.get("parent_thread_id"))
    return SpawnLink(session_id=parent) if parent else None


def _agent(meta: Json) -> str | None:
    spawned = as_dict(as_dict(as_dict(meta.get("source")).get("subagent")).get("thread_spawn"))
    return first_text(spawned.get("agent_nickname"), spawned.get("agent_role"), spawned.get("agent_path"))
