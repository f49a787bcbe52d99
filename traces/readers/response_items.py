"""Items of the Responses API as blocks: what a model made, and what was put into its prompt."""

from __future__ import annotations

from traces.conversation import Conversation
from traces.model import Block, ReasoningBlock, TextBlock, ToolCallBlock
from traces.parts import content_blocks, content_text
from traces.pool import json_text
from traces.readlog import ReadLog
from traces.records import Json, as_dict, as_text, first_text, joined

_HOSTED_FIELDS = ("arguments", "action", "code", "queries", "input")
_CALLS = ("function_call", "tool_call", "mcp_call")


def is_output(item: Json) -> bool:
    """Whether the model made *item*."""
    kind = first_text(item.get("type")) or ("message" if "role" in item else "")
    if kind == "message":
        return item.get("role") == "assistant"
    return kind in ("reasoning", "program") or kind.endswith("_call")


def is_result(item: Json) -> bool:
    """Whether *item* is what a tool returned."""
    kind = first_text(item.get("type")) or ""
    return kind.endswith("_output") or kind == "tool_result"


def output_blocks(item: Json, log: ReadLog) -> tuple[Block, ...]:
    """Blocks of an item that the model made; reasoning whose text is summed up or encrypted stays hidden."""
    kind = first_text(item.get("type")) or "message"
    if kind == "message":
        return tuple(b for b in content_blocks(item.get("content"), log) if isinstance(b, TextBlock))
    if kind == "reasoning":
        text = joined(item.get("content"))
        return (ReasoningBlock(text=text) if text else ReasoningBlock(),)
    return (_call(kind, item),)


def add_input(conversation: Conversation, item: Json, log: ReadLog, at_s: float | None = None) -> bool:
    """Add a prompt message or a tool result to *conversation*; False when *item* is neither."""
    if is_result(item):
        output = next((item[key] for key in ("output", "result", "tools") if item.get(key) is not None), None)
        nested = as_dict(output)
        text = content_text(nested["content"] if isinstance(nested.get("content"), str) else output)
        failed = nested.get("success") is False or item.get("status") == "failed"
        call_id = as_text(item.get("call_id"))
        name = as_text(item.get("name"))
        conversation.result(text, call_id, name=name, is_error=failed, at_s=at_s)
        return True
    role = first_text(item.get("role"))
    if role is None or item.get("type") not in (None, "message"):
        return False
    conversation.say(role, content_blocks(item.get("content"), log), at_s)
    return True


def _call(kind: str, item: Json) -> ToolCallBlock:
    call_id = first_text(item.get("call_id"), item.get("id"))
    if kind == "custom_tool_call":
        name = first_text(item.get("name")) or "custom"
        return ToolCallBlock(name=name, arguments=json_text(item.get("input")), call_id=call_id, free_form=True)
    if kind in _CALLS:
        name = first_text(item.get("name"), as_dict(item.get("function")).get("name")) or "unknown"
        space = first_text(item.get("namespace"))
        arguments = item.get("arguments")
        if arguments is None:
            arguments = as_dict(item.get("function")).get("arguments")
        full = f"{space}.{name}" if space else name
        return ToolCallBlock(name=full, arguments=json_text(arguments), call_id=call_id)
    fields = (item.get(key) for key in _HOSTED_FIELDS)
    body = next((value for value in fields if value is not None), None)
    return ToolCallBlock(
        name=kind.removesuffix("_call"),
        arguments=json_text(body),
        call_id=call_id,
        free_form=isinstance(body, str) and "code" in item,
    )
