"""Factory Droid: session stores (messages of parts) and the stream-json output of one run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from traces.clock import unix_seconds
from traces.conversation import Conversation, text_blocks
from traces.model import Block, HiddenHead, Session, TextBlock, Times, ToolCallBlock
from traces.parts import content_text
from traces.pool import json_text
from traces.readers.base import JsonReader, finished, stem
from traces.readers.spoken import ReplyFacts, add_blocks_message
from traces.readlog import ReadLog
from traces.records import Json, as_dict, first_text, objects
from traces.source import SourceFile


@dataclass(slots=True)
class _Stream:
    """One run of stream-json: the reply whose pieces are coming in."""

    conversation: Conversation
    log: ReadLog
    model: str | None = None
    pending: list[Block] = field(default_factory=list)
    end_s: float | None = None
    last_text: str | None = None


class DroidReader(JsonReader):
    """Reads Droid session stores and stream-json output."""

    name = "droid"
    title = "Factory Droid session stores and stream-json output (JSONL)"

    def score(self, rows: list[Json]) -> float:
        """A session_start row, or stream rows that carry a session id and a text or a tool's name."""
        if any(row.get("type") == "session_start" and "id" in row and "message" not in row for row in rows):
            return 0.9
        stream = [row for row in rows if "session_id" in row]
        said = any(row.get("type") == "message" and "text" in row and "role" in row for row in stream)
        called = any(row.get("type") == "tool_call" and "toolName" in row for row in stream)
        return 0.9 if said or called else 0.0

    def read_file(self, file: SourceFile, log: ReadLog) -> Iterator[Session]:
        """Yield the one session of a file."""
        conversation = Conversation(stem(file), log)
        stream = _Stream(conversation, log)
        for _, row in objects(file, log):
            at_s = unix_seconds(row.get("timestamp"))
            kind = row.get("type")
            if kind == "session_start":
                conversation.id = first_text(row.get("id")) or conversation.id
            elif kind == "message" and isinstance(row.get("message"), dict):
                facts = ReplyFacts(turn_id=first_text(row.get("id")), model=first_text(row.get("model")))
                add_blocks_message(conversation, as_dict(row["message"]), log, at_s, facts)
            else:
                conversation.id = first_text(row.get("session_id")) or conversation.id
                _stream_row(stream, row, at_s)
        _close(stream)
        yield from finished(conversation, log, head=HiddenHead(key="droid"))


READER = DroidReader()


def _stream_row(stream: _Stream, row: Json, at_s: float | None) -> None:
    kind = row.get("type")
    if kind == "message" and row.get("role") == "assistant":
        _close(stream)
        _say(stream, first_text(row.get("text")), at_s)
    elif kind == "message":
        _close(stream)
        stream.conversation.say(first_text(row.get("role")) or "user", text_blocks(first_text(row.get("text"))), at_s)
    elif kind == "tool_call":
        name = first_text(row.get("toolName")) or "unknown"
        call_id = first_text(row.get("toolCallId"))
        call = ToolCallBlock(name=name, arguments=json_text(row.get("parameters")), call_id=call_id)
        stream.pending.append(call)
        stream.end_s = at_s
    elif kind == "tool_result":
        _close(stream)
        failed = row.get("isError") is True
        text = content_text(row.get("value"))
        stream.conversation.result(text, first_text(row.get("toolCallId")), is_error=failed, at_s=at_s)
    elif kind == "completion":
        _close(stream)
        _finish(stream, first_text(row.get("finalText")), at_s)
    elif kind == "system":
        stream.model = first_text(row.get("model")) or stream.model
    else:
        stream.log.omit("Droid event that is no message, call or result")


def _finish(stream: _Stream, text: str | None, at_s: float | None) -> None:
    """The closing row repeats the last message, unless no message row was written for it."""
    if text is not None and text == stream.last_text:
        stream.log.duplicate("Droid closing text repeated from the last message")
        return
    _say(stream, text, at_s)
    _close(stream)


def _say(stream: _Stream, text: str | None, at_s: float | None) -> None:
    if text:
        stream.pending.append(TextBlock(text=text))
        stream.last_text = text
        stream.end_s = at_s


def _close(stream: _Stream) -> None:
    if stream.pending:
        times = None if stream.end_s is None else Times(end_s=stream.end_s)
        stream.conversation.reply(tuple(stream.pending), times=times, model=stream.model)
    stream.pending = []
