"""Gemini CLI: chats as one JSON document or as JSON lines, and older chats with a ``history``."""

from __future__ import annotations

from collections.abc import Iterator

from traces.clock import unix_seconds
from traces.conversation import Conversation
from traces.model import Block, HiddenHead, ReasoningBlock, Session, Times, ToolCallBlock
from traces.parts import content_blocks, content_text
from traces.pool import json_text
from traces.readers.base import JsonReader, finished, stem
from traces.readers.gemini_parts import chat_usage, function_responses, input_blocks, output_blocks
from traces.readlog import ReadLog
from traces.records import Json, as_dict, as_list, dicts, documents, first_text
from traces.source import SourceFile

_MODEL_TYPES = ("gemini", "model")
_NOTES = ("info", "error", "warning")


class GeminiCliReader(JsonReader):
    """Reads chats of the Gemini CLI; thoughts are summaries, so they stay hidden and are not sent again."""

    name = "gemini-cli"
    title = "Gemini CLI chats (JSON and JSONL)"

    def score(self, rows: list[Json]) -> float:
        """A session header with messages of type gemini, or a history of gemini roles."""
        first = rows[0]
        if "sessionId" in first and ("projectHash" in first or isinstance(first.get("messages"), list)):
            kinds = {str(message.get("type")) for message in dicts(first.get("messages")) + rows[1:]}
            if kinds & {*_MODEL_TYPES, *_NOTES, "user"} or "projectHash" in first:
                return 0.9
        roles = {str(message.get("role")) for message in dicts(first.get("history")) if "parts" in message}
        return 0.85 if roles & {"gemini", "model", "user"} else 0.0

    def read_file(self, file: SourceFile, log: ReadLog) -> Iterator[Session]:
        """Yield the one session of a chat file."""
        header: Json = {}
        messages: dict[str, Json] = {}
        for number, value in documents(file, log):
            row = as_dict(value)
            if not row:
                log.invalid(file.name, number, "the record is no chat and no message", kind="record of no chat")
            elif isinstance(row.get("messages"), list) or isinstance(row.get("history"), list):
                header = row
                _collect(messages, dicts(row.get("messages")) + dicts(row.get("history")), log)
            elif "sessionId" in row and "type" not in row:
                header = header or row
            elif "$set" in row:
                _collect(messages, dicts(as_dict(row["$set"]).get("messages")), log)
            else:
                _collect(messages, [row], log)
        conversation = Conversation(first_text(header.get("sessionId")) or stem(file), log)
        conversation.seen_at(unix_seconds(header.get("startTime")))
        model = first_text(as_dict(header.get("meta")).get("model"))
        for message in messages.values():
            _add(conversation, message, model, log)
        yield from finished(conversation, log, head=HiddenHead(key="gemini-cli"))


READER = GeminiCliReader()


def _collect(messages: dict[str, Json], rows: list[Json], log: ReadLog) -> None:
    """Keep the last row of each id: a chat's message is written again when its tools have run."""
    for row in rows:
        key = first_text(row.get("id")) or f"#{len(messages)}"
        if key in messages:
            log.duplicate("Gemini message written again")
        messages[key] = row


def _add(conversation: Conversation, message: Json, model: str | None, log: ReadLog) -> None:
    kind = first_text(message.get("type"), message.get("role")) or ""
    at_s = unix_seconds(message.get("timestamp"))
    at_s = at_s if at_s is not None else unix_seconds(message.get("ts"))
    content = message.get("content", message.get("parts"))
    if kind in _MODEL_TYPES:
        _reply(conversation, message, at_s, model, log)
    elif kind == "user":
        parts = dicts(content)
        for text, call_id, name in function_responses(parts):
            conversation.result(text, call_id, name=name, at_s=at_s)
        conversation.say("user", input_blocks(parts, log) if parts else content_blocks(content, log), at_s)
    else:
        log.omit("Gemini message to the person, not to the model")


def _reply(conversation: Conversation, message: Json, at_s: float | None, model: str | None, log: ReadLog) -> None:
    content = message.get("content", message.get("parts"))
    thoughts: tuple[Block, ...] = (ReasoningBlock(),) if message.get("thoughts") else ()
    spoken = output_blocks(dicts(content), log) if as_list(content) else content_blocks(content, log)
    calls = dicts(message.get("toolCalls"))
    called = tuple(
        ToolCallBlock(
            name=first_text(call.get("name")) or "unknown",
            arguments=json_text(call.get("args")),
            call_id=first_text(call.get("id")),
        )
        for call in calls
    )
    conversation.reply(
        (*thoughts, *spoken, *called),
        turn_id=first_text(message.get("id")),
        usage=chat_usage(as_dict(message.get("tokens"))),
        times=None if at_s is None else Times(end_s=at_s),
        model=first_text(message.get("model")) or model,
        without_reasoning=True,
    )
    for call in calls:
        _result(conversation, call)


def _result(conversation: Conversation, call: Json) -> None:
    """Add what a recorded tool call returned; its own time is when it ended."""
    call_id, name = first_text(call.get("id")), first_text(call.get("name"))
    answers = list(function_responses(dicts(call.get("result"))))
    shown = content_text(call.get("resultDisplay"))
    text = "".join(answer[0] for answer in answers) if answers else shown
    failed = call.get("status") in ("error", "cancelled")
    at_s = unix_seconds(call.get("timestamp"))
    if text or at_s is not None:
        conversation.result(text, call_id, name=name, is_error=failed, at_s=at_s)
