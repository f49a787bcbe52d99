"""Qwen Code sessions: rows linked by parentUuid, with Gemini parts; rewinding leaves branches behind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from traces.clock import unix_seconds
from traces.conversation import Conversation
from traces.model import HiddenHead, Message, ReasoningBlock, Session, Times
from traces.readers.base import JsonReader, finished, stem
from traces.readers.gemini_parts import api_usage, function_responses, input_blocks, output_blocks
from traces.readlog import ReadLog
from traces.records import Json, as_dict, dicts, first_text, objects
from traces.source import SourceFile


@dataclass(slots=True)
class _Node:
    """A row, or the rows of one id, of the tree."""

    kind: str
    parent: str | None
    at_s: float | None
    parts: list[Json] = field(default_factory=list)
    usage: Json = field(default_factory=dict)
    model: str | None = None
    messages: tuple[Message, ...] = ()


class QwenCodeReader(JsonReader):
    """Reads Qwen Code sessions. A discarded branch's replies are turns too: they were generated."""

    name = "qwen-code"
    title = "Qwen Code sessions (JSONL)"

    def score(self, rows: list[Json]) -> float:
        """Rows with uuid and sessionId whose messages have parts, or Qwen's own system rows."""
        rows = [row for row in rows if "uuid" in row and "sessionId" in row]
        parts = any(isinstance(as_dict(row.get("message")).get("parts"), list) for row in rows)
        system = any(row.get("type") == "system" and "systemPayload" in row for row in rows)
        return 0.95 if parts or system else 0.0

    def read_file(self, file: SourceFile, log: ReadLog) -> Iterator[Session]:
        """Yield a session for each session id of the file."""
        sessions: dict[str, dict[str, _Node]] = {}
        for number, row in objects(file, log):
            uuid = first_text(row.get("uuid"))
            if uuid is None:
                log.invalid(file.name, number, "the row has no uuid", kind="row without an id")
                continue
            nodes = sessions.setdefault(first_text(row.get("sessionId")) or stem(file), {})
            _collect(nodes, uuid, row, log)
        for session_id, nodes in sessions.items():
            conversation = Conversation(session_id, log)
            for uuid, node in nodes.items():
                _add(conversation, nodes, uuid, node, log)
            yield from finished(conversation, log, head=HiddenHead(key="qwen-code"))


READER = QwenCodeReader()


def _collect(nodes: dict[str, _Node], uuid: str, row: Json, log: ReadLog) -> None:
    """Add a row; the rows of one reply share its uuid and follow each other."""
    kind = str(row.get("type"))
    parts = dicts(as_dict(row.get("message")).get("parts"))
    known = nodes.get(uuid)
    if known is None or (known.kind != "assistant" and kind == "assistant"):
        known = _Node(kind, first_text(row.get("parentUuid")), unix_seconds(row.get("timestamp")))
        nodes[uuid] = known
    elif known.kind != "assistant" or kind != "assistant":
        log.duplicate("Qwen row with an id already read")
        return
    known.parts += parts
    known.at_s = unix_seconds(row.get("timestamp")) or known.at_s
    known.usage = as_dict(row.get("usageMetadata")) or known.usage
    known.model = first_text(row.get("model")) or known.model


def _add(conversation: Conversation, nodes: dict[str, _Node], uuid: str, node: _Node, log: ReadLog) -> None:
    if node.kind == "assistant":
        blocks = output_blocks(node.parts, log)
        conversation.history = _ancestors(nodes, node.parent, log)
        conversation.reply(
            blocks,
            turn_id=uuid,
            usage=api_usage(node.usage),
            times=None if node.at_s is None else Times(end_s=node.at_s),
            model=node.model,
        )
        kept = tuple(block for block in blocks if not isinstance(block, ReasoningBlock))
        node.messages = (Message(role="assistant", blocks=kept),) if kept else ()
    elif node.kind in ("user", "tool_result"):
        conversation.history = []
        for text, call_id, name in function_responses(node.parts):
            conversation.result(text, call_id, name=name, at_s=node.at_s)
        conversation.say("user", input_blocks(node.parts, log), node.at_s)
        node.messages = tuple(conversation.history)
    else:
        log.omit("Qwen row that is no message")


def _ancestors(nodes: dict[str, _Node], uuid: str | None, log: ReadLog) -> list[Message]:
    """Messages from the root down to *uuid*; a parent that was never written ends the walk."""
    chain: list[_Node] = []
    passed: set[str] = set()
    while uuid is not None and uuid not in passed:
        passed.add(uuid)
        node = nodes.get(uuid)
        if node is None:
            log.assume("Qwen row whose parent is not in the file: its prompt starts there")
            break
        chain.append(node)
        uuid = node.parent
    return [message for node in reversed(chain) for message in node.messages]
