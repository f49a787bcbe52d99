"""Antigravity CLI transcripts: numbered steps of the user, the model, its tools and the system."""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from traces.clock import unix_seconds
from traces.conversation import Conversation, text_blocks
from traces.model import Block, HiddenHead, ReasoningBlock, Session, Times, ToolCallBlock
from traces.pool import json_text
from traces.readers.base import JsonReader, finished, stem
from traces.readlog import ReadLog
from traces.records import Json, as_dict, as_list, as_text, dicts, first_text, objects, parsed
from traces.source import SourceFile

_UNSENT = ("CONVERSATION_HISTORY",)


class AntigravityReader(JsonReader):
    """Reads Antigravity transcripts; a tool's step follows the response that called it."""

    name = "antigravity"
    title = "Antigravity CLI transcripts (JSONL)"

    def score(self, rows: list[Json]) -> float:
        """Rows with a step index, a source and a type."""
        return 0.95 if any("step_index" in row and "source" in row and "type" in row for row in rows) else 0.0

    def read_file(self, file: SourceFile, log: ReadLog) -> Iterator[Session]:
        """Yield the one session of a transcript."""
        conversation = Conversation(stem(file), log)
        for _, row in objects(file, log):
            _step(conversation, row, log)
        yield from finished(conversation, log, head=HiddenHead(key="antigravity"))


READER = AntigravityReader()


def _step(conversation: Conversation, row: Json, log: ReadLog) -> None:
    kind, at_s = row.get("type"), unix_seconds(row.get("created_at"))
    text = as_text(row.get("content")) or ""
    if kind == "PLANNER_RESPONSE":
        _reply(conversation, row, at_s, log)
    elif kind == "USER_INPUT":
        conversation.say("user", text_blocks(text), at_s)
    elif kind == "CHECKPOINT":
        conversation.history = []
        conversation.say("user", text_blocks(text), at_s)
        log.omit("Antigravity compaction call, recorded without its usage")
    elif row.get("source") == "SYSTEM":
        if kind in _UNSENT or not text:
            log.omit("Antigravity step that is no message")
        else:
            conversation.say("system", text_blocks(text), at_s)
    elif row.get("source") == "MODEL":
        conversation.result(text, is_error=row.get("status") == "ERROR", at_s=at_s)
    else:
        log.omit("Antigravity step that is no message")


def _reply(conversation: Conversation, row: Json, at_s: float | None, log: ReadLog) -> None:
    thinking = first_text(row.get("thinking"))
    blocks: list[Block] = [ReasoningBlock(text=thinking)] if thinking else []
    blocks += text_blocks(as_text(row.get("content")))
    for call in dicts(row.get("tool_calls")):
        name = first_text(call.get("name")) or "unknown"
        blocks.append(ToolCallBlock(name=name, arguments=json_text(_decoded(call.get("args")))))
    if not blocks:
        log.omit("empty reply")
        return
    if "content" in as_list(row.get("truncated_fields")):
        log.assume("Antigravity text that the recording cut short counts as it stands")
    conversation.reply(blocks, times=None if at_s is None else Times(end_s=at_s))


def _decoded(args: object) -> object:
    """Arguments whose values are JSON texts, as the values that they stand for."""
    fields = as_dict(args)
    return {key: _value(value) for key, value in fields.items()} if fields else args


def _value(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return parsed(value.encode())
    except orjson.JSONDecodeError:
        return value
