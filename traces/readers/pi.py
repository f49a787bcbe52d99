"""Pi and OpenClaw sessions: entries linked by parentId, with compactions and branches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from traces.clock import unix_seconds
from traces.conversation import Conversation, text_blocks
from traces.model import HiddenHead, Message, Session, Times, Usage
from traces.parts import content_text
from traces.readers.base import JsonReader, finished, stem
from traces.readers.spoken import ReplyFacts, add_blocks_message
from traces.readlog import ReadLog
from traces.records import Json, as_count, as_dict, first_text, objects
from traces.source import SourceFile


@dataclass(slots=True)
class _Entry:
    parent: str | None
    messages: list[Message] = field(default_factory=list)
    kept_from: str | None = None
    """Set on a compaction: the first earlier entry that stays in the context."""


class PiReader(JsonReader):
    """Reads Pi and OpenClaw sessions; a reply's prompt is the branch it stands on."""

    name = "pi"
    title = "Pi and OpenClaw sessions (JSONL)"

    def score(self, rows: list[Json]) -> float:
        """A versioned session header, then entries with a message."""
        header = any(row.get("type") == "session" and "version" in row and "id" in row for row in rows)
        entries = any(row.get("type") == "message" and isinstance(row.get("message"), dict) for row in rows)
        return 0.95 if header and (entries or len(rows) == 1) else 0.0

    def read_file(self, file: SourceFile, log: ReadLog) -> Iterator[Session]:
        """Yield the one session of a file."""
        conversation = Conversation(stem(file), log)
        entries: dict[str, _Entry] = {}
        model = last = None
        for _, row in objects(file, log):
            kind, at_s = row.get("type"), unix_seconds(row.get("timestamp"))
            entry_id = first_text(row.get("id")) or f"#{len(entries)}"
            if kind == "session":
                conversation.id = first_text(row.get("id")) or conversation.id
                conversation.seen_at(at_s)
                continue
            parent = first_text(row.get("parentId"))
            if parent in entries and parent != last:
                conversation.history = _branch(entries, parent)
            elif parent not in entries:
                parent = last
            entry = entries.setdefault(entry_id, _Entry(parent))
            last = entry_id
            known = len(conversation.history)
            if kind == "model_change":
                model = first_text(row.get("modelId")) or model
            elif kind == "compaction":
                entry.kept_from = first_text(row.get("firstKeptEntryId")) or ""
                entry.messages = [Message(role="user", blocks=text_blocks(first_text(row.get("summary"))))]
                conversation.history = _branch(entries, entry_id)
                log.omit("Pi compaction call, recorded without its usage")
            elif kind == "message":
                _message(conversation, row, as_dict(row.get("message")), model, log)
                entry.messages = conversation.history[known:]
            else:
                log.omit("Pi entry that is no message")
        yield from finished(conversation, log, head=HiddenHead(key="pi"))


READER = PiReader()


def _message(conversation: Conversation, row: Json, message: Json, model: str | None, log: ReadLog) -> None:
    at_s = unix_seconds(row.get("timestamp"))
    if message.get("role") == "toolResult":
        call_id, name = first_text(message.get("toolCallId")), first_text(message.get("toolName"))
        failed = message.get("isError") is True
        text = content_text(message.get("content"))
        conversation.result(text, call_id, name=name, is_error=failed, at_s=at_s)
        return
    times = Times(sent_s=unix_seconds(message.get("timestamp")), end_s=at_s)
    facts = ReplyFacts(
        turn_id=first_text(row.get("id")),
        usage=_usage(as_dict(message.get("usage"))),
        times=None if times == Times() else times,
        model=first_text(message.get("model")) or model,
        finish_reason=first_text(message.get("stopReason")),
    )
    add_blocks_message(conversation, message, log, at_s, facts)


def _usage(counts: Json) -> Usage | None:
    """Usage; Pi counts cache reads and writes beside the input."""
    fresh, read, written = (as_count(counts.get(key)) for key in ("input", "cacheRead", "cacheWrite"))
    usage = Usage(
        input_tokens=None if fresh is None else fresh + (read or 0) + (written or 0),
        cached_tokens=read,
        cache_write_tokens=written,
        output_tokens=as_count(counts.get("output")),
    )
    return None if usage == Usage() else usage


def _branch(entries: dict[str, _Entry], entry_id: str | None) -> list[Message]:
    """Messages in the context of *entry_id*: up to the root, or to what the last compaction kept."""
    found: list[list[Message]] = []
    passed: set[str] = set()
    summary: list[Message] = []
    kept_from: str | None = None
    while entry_id is not None and entry_id not in passed and entry_id in entries:
        passed.add(entry_id)
        entry = entries[entry_id]
        if entry.kept_from is not None and kept_from is None:
            summary, kept_from = entry.messages, entry.kept_from
        elif entry.kept_from is None:
            found.append(entry.messages)
        if entry_id == kept_from:
            break
        entry_id = entry.parent
    else:
        if kept_from is not None and kept_from not in passed:
            found = []
    return summary + [message for messages in reversed(found) for message in messages]
