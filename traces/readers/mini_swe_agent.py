"""mini-swe-agent trajectories: a list of chat messages, or a document with messages and their API replies.

Commands in a fenced block are prose to the engine; newer runs call the bash tool instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from traces.clock import unix_seconds
from traces.conversation import Conversation
from traces.model import Block, HiddenHead, Session, ToolCallBlock
from traces.readers.base import JsonReader, finished, first_value, stem
from traces.readers.openai_messages import assistant_blocks, chat_usage
from traces.readers.response_items import add_input, is_output, output_blocks
from traces.readers.spoken import ReplyFacts, add_chat_message, reply
from traces.readlog import ReadLog
from traces.records import Json, as_dict, as_text, dicts, documents, first_text
from traces.source import SourceFile

_FENCE = re.compile(r"```(?:mswea_)?bash(?:_command)?\s")
_NOTES = ("exit",)


class MiniSweAgentReader(JsonReader):
    """Reads mini-swe-agent trajectories of both layouts."""

    name = "mini-swe-agent"
    title = "mini-swe-agent trajectories (JSON)"

    def sniff(self, file: SourceFile, head: bytes) -> float:
        """As for other documents; a bare list must hold messages with a bash fence in a reply."""
        value = first_value(head)
        if not isinstance(value, list):
            return super().sniff(file, head)
        messages = dicts(value)
        plain = all("role" in message and "content" in message for message in messages)
        fenced = any(m.get("role") == "assistant" and _FENCE.search(str(m.get("content"))) for m in messages)
        return 0.85 if messages and plain and fenced else 0.0

    def score(self, rows: list[Json]) -> float:
        """The trajectory format's own mark, or run information beside the messages."""
        first = rows[0]
        if str(first.get("trajectory_format")).startswith("mini-swe-agent"):
            return 0.95
        info = as_dict(first.get("info"))
        return 0.9 if "mini_version" in info and isinstance(first.get("messages"), list) else 0.0

    def read_file(self, file: SourceFile, log: ReadLog) -> Iterator[Session]:
        """Yield the one session of a trajectory."""
        for number, value in documents(file, log):
            run = as_dict(value)
            messages = dicts(value if isinstance(value, list) else run.get("messages"))
            if not messages:
                log.invalid(file.name, number, "the trajectory holds no messages", kind="trajectory without messages")
                continue
            conversation = Conversation(first_text(run.get("instance_id")) or stem(file), log)
            model = first_text(as_dict(as_dict(as_dict(run.get("info")).get("config")).get("model")).get("model_name"))
            end_s: float | None = None
            for message in messages:
                end_s = _message(conversation, message, model, end_s, log)
            called = any("tool_calls" in message or message.get("object") == "response" for message in messages)
            yield from finished(conversation, log, head=HiddenHead(key="mini-swe-agent tools") if called else None)


READER = MiniSweAgentReader()


def _message(
    conversation: Conversation, message: Json, model: str | None, end_s: float | None, log: ReadLog
) -> float | None:
    """Add a message; return when the last reply ended."""
    extra = as_dict(message.get("extra"))
    at_s = unix_seconds(message.get("timestamp", extra.get("timestamp")))
    if message.get("role") in _NOTES:
        log.omit("mini-swe-agent note that is no message")
        return end_s
    if message.get("object") == "response" or message.get("role") == "assistant":
        blocks = _output(message, log)
        response = as_dict(extra.get("response"))
        usage = chat_usage(response.get("usage", message.get("usage")))
        named = first_text(response.get("model"), message.get("model"))
        reply(conversation, blocks, at_s, ReplyFacts(usage=usage, model=named or model), log)
        return at_s
    if message.get("type") == "function_call_output":
        add_input(conversation, message, log, at_s)
        return end_s
    _fence_wait(conversation, at_s, end_s)
    add_chat_message(conversation, message, log, at_s)
    return end_s


def _output(message: Json, log: ReadLog) -> tuple[Block, ...]:
    if message.get("object") != "response":
        return assistant_blocks(message, log)
    items = [item for item in dicts(message.get("output")) if is_output(item)]
    return tuple(block for item in items for block in output_blocks(item, log))


def _fence_wait(conversation: Conversation, at_s: float | None, end_s: float | None) -> None:
    """A prompt message after a reply with a fenced command is that command's output."""
    last = conversation.history[-1] if conversation.history else None
    if last is None or last.role != "assistant" or any(isinstance(b, ToolCallBlock) for b in last.blocks):
        return
    if any(_FENCE.search(as_text(getattr(block, "text", None)) or "") for block in last.blocks):
        known = at_s is not None and end_s is not None and at_s >= end_s
        conversation.waits("bash", at_s - end_s if known and at_s is not None and end_s is not None else None)
