"""Messages, content blocks and usage of the Anthropic Messages API, which Claude Code's rows share."""

from __future__ import annotations

from traces.model import Block, Message, ReasoningBlock, TextBlock, ToolCallBlock, ToolResultBlock, Usage
from traces.parts import content_blocks, content_text
from traces.pool import json_text
from traces.readlog import ReadLog
from traces.records import Json, as_count, as_dict, as_list, dicts, first_text

_CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")
_THOUGHTS = ("thinking", "redacted_thinking")


def output_blocks(content: object, log: ReadLog) -> tuple[Block, ...]:
    """Blocks that the model made, in order.

    Thinking without its text stays hidden; hosted tools' results, which no model made, are omitted.
    """
    if isinstance(content, str):
        return (TextBlock(text=content),) if content else ()
    blocks: list[Block] = []
    for part in as_list(content):
        blocks += _made(part, log)
    return tuple(blocks)


def prompt_messages(message: Json, log: ReadLog) -> list[Message]:
    """The messages that one Messages API message stands for: each tool result becomes one of role tool."""
    role = first_text(message.get("role")) or "user"
    content = message.get("content")
    if role == "assistant":
        blocks = output_blocks(content, log)
        return [Message(role=role, blocks=blocks)] if blocks else []
    found = [result_message(part, log) for part in tool_results(content)]
    rest = content
    if found and isinstance(content, list):
        rest = [part for part in content if as_dict(part).get("type") != "tool_result"]
    said = content_blocks(rest, log)
    if said:
        found.append(Message(role=role, blocks=said))
    return found


def tool_results(content: object) -> list[Json]:
    """The tool_result parts of a user message's content."""
    return [part for part in dicts(content) if part.get("type") == "tool_result"]


def result_message(part: Json, log: ReadLog) -> Message:
    """A tool_result part as a message of role tool; its images stand beside its text."""
    content = part.get("content")
    pictures = [item for item in dicts(content) if item.get("type") in ("image", "document")]
    texts = [item for item in as_list(content) if item not in pictures] if pictures else content
    result = ToolResultBlock(
        text=content_text(texts) if texts else "",
        call_id=first_text(part.get("tool_use_id")),
        is_error=part.get("is_error") is True,
    )
    return Message(role="tool", blocks=(result, *content_blocks(pictures, log)))


def system_messages(system: object, log: ReadLog) -> list[Message]:
    """The request's system prompt as a message; empty without one."""
    blocks = content_blocks(system, log)
    return [Message(role="system", blocks=blocks)] if blocks else []


def anthropic_usage(value: object) -> Usage | None:
    """Usage with input including cache reads and writes, which the API counts beside it; None without counts.

    Output includes the thinking, whose share is known only where the API gives it.
    """
    counts = as_dict(value)
    fresh = as_count(counts.get("input_tokens"))
    read = as_count(counts.get("cache_read_input_tokens"))
    written = as_count(counts.get("cache_creation_input_tokens"))
    thinking = as_count(as_dict(counts.get("output_tokens_details")).get("thinking_tokens"))
    usage = Usage(
        input_tokens=None if fresh is None else fresh + (read or 0) + (written or 0),
        cached_tokens=read,
        cache_write_tokens=written,
        output_tokens=as_count(counts.get("output_tokens")),
        reasoning_tokens=thinking,
    )
    return None if usage == Usage() else usage


def _made(part: object, log: ReadLog) -> tuple[Block, ...]:
    fields = as_dict(part)
    kind = fields.get("type")
    if kind in _CALLS:
        name = first_text(fields.get("name"))
        if name is None:
            log.omit("tool call without a name")
            return ()
        call_id = first_text(fields.get("id"))
        return (ToolCallBlock(name=name, arguments=json_text(fields.get("input")), call_id=call_id),)
    if kind in _THOUGHTS:
        return (ReasoningBlock(text=first_text(fields.get("thinking"))),)
    if isinstance(kind, str) and kind.endswith("_tool_result"):
        log.omit("result of a hosted tool inside a reply")
        return ()
    return content_blocks(part, log)
