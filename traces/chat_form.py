"""Canonical messages in the form of OpenAI's chat API."""

from __future__ import annotations

from traces.model import (
    Block,
    MediaBlock,
    Message,
    OpaqueBlock,
    RawBlock,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    ToolSpec,
    Usage,
)
from traces.records import Json


def chat_form(message: Message) -> list[Json]:
    """The chat messages that stand for *message*: one a tool result, else one."""
    results = [block for block in message.blocks if isinstance(block, ToolResultBlock)]
    if results:
        return [
            _without_none({"role": "tool", "content": block.text, "tool_call_id": block.call_id, "name": message.name})
            for block in results
        ]
    if message.role == "assistant":
        return [assistant_form(message.blocks)]
    parts = [part for block in message.blocks if (part := _part(block)) is not None]
    texts = [block.text for block in message.blocks if isinstance(block, TextBlock)]
    content: object = texts[0] if len(texts) == len(parts) == 1 else parts
    return [_without_none({"role": message.role, "content": content, "name": message.name})]


def assistant_form(blocks: tuple[Block, ...]) -> Json:
    """An assistant message of *blocks*; hidden reasoning has no place in it."""
    text = "".join(block.text for block in blocks if isinstance(block, (TextBlock, RawBlock)))
    reasoning = "".join(block.text or "" for block in blocks if isinstance(block, ReasoningBlock))
    calls = [_call(block) for block in blocks if isinstance(block, ToolCallBlock)]
    form: Json = {"role": "assistant", "content": text or None}
    if reasoning:
        form["reasoning_content"] = reasoning
    if calls:
        form["tool_calls"] = calls
    return form


def tool_form(tool: ToolSpec) -> Json:
    """A tool as a request offers it."""
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def usage_form(usage: Usage) -> Json:
    """Usage with the details that are recorded."""
    form = _without_none({"prompt_tokens": usage.input_tokens, "completion_tokens": usage.output_tokens})
    if usage.cached_tokens is not None or usage.cache_write_tokens is not None:
        details: Json = {"cached_tokens": usage.cached_tokens, "cache_creation_tokens": usage.cache_write_tokens}
        form["prompt_tokens_details"] = _without_none(details)
    if usage.reasoning_tokens is not None:
        form["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning_tokens}
    return form


def has_form(blocks: tuple[Block, ...]) -> bool:
    """Whether the text of *blocks* is in the trace."""
    return not any(isinstance(block, OpaqueBlock) for block in blocks)


def _call(block: ToolCallBlock) -> Json:
    if block.free_form:
        return _without_none(
            {"id": block.call_id, "type": "custom", "custom": {"name": block.name, "input": block.arguments}}
        )
    function = {"name": block.name, "arguments": block.arguments}
    return _without_none({"id": block.call_id, "type": "function", "function": function})


def _part(block: Block) -> Json | None:
    if isinstance(block, TextBlock):
        return {"type": "text", "text": block.text}
    if isinstance(block, MediaBlock):
        return {"type": "file", "media_type": block.media_type, "file": {"key": block.key}}
    return None


def _without_none(form: Json) -> Json:
    return {key: value for key, value in form.items() if value is not None}
