"""Messages, usage and attachments of Inspect logs."""

from __future__ import annotations

from traces.model import Block, Message, ToolResultBlock, Usage
from traces.parts import content_text
from traces.readers.openai_messages import assistant_blocks, chat_message
from traces.readlog import ReadLog
from traces.records import Json, as_count, as_dict, as_text, dicts, first_text

_REFERENCES = ("attachment://", "tc://")


def resolved(value: object, attachments: Json) -> object:
    """*value* with each reference to an attachment replaced by its text."""
    if isinstance(value, str):
        for mark in _REFERENCES:
            if value.startswith(mark):
                return attachments.get(value.removeprefix(mark), value)
        return value
    if isinstance(value, list):
        return [resolved(member, attachments) for member in value]
    if isinstance(value, dict):
        return {key: resolved(member, attachments) for key, member in value.items()}
    return value


def input_messages(event: Json, pool: list[Json], attachments: Json, log: ReadLog) -> list[Message]:
    """The prompt of a model event: its input, then what its references name in the message pool."""
    members = dicts(event.get("input"))
    refs = event.get("input_refs")
    for ref in refs if isinstance(refs, list) else []:
        bounds = ref if isinstance(ref, list) else [ref, None]
        start = as_count(bounds[0]) if bounds else None
        end = as_count(bounds[1]) if len(bounds) > 1 else None
        if start is None or start >= len(pool):
            log.assume("Inspect prompt that refers outside the message pool: what is missing is left out")
            continue
        members += pool[start : start + 1 if end is None else end]
    found = (_message(as_dict(resolved(member, attachments)), log) for member in members)
    return [message for message in found if message is not None and message.blocks]


def output_message(message: Json, attachments: Json, log: ReadLog) -> tuple[Block, ...]:
    """Blocks of a reply's message."""
    return assistant_blocks(_usual(as_dict(resolved(message, attachments))), log)


def inspect_usage(counts: Json) -> Usage | None:
    """Usage of one call; the total tells whether cached and reasoning tokens stand inside or beside the rest."""
    given, made = as_count(counts.get("input_tokens")), as_count(counts.get("output_tokens"))
    read, written = (as_count(counts.get(f"input_tokens_cache_{kind}")) for kind in ("read", "write"))
    thought, total = as_count(counts.get("reasoning_tokens")), as_count(counts.get("total_tokens"))
    cached = (read or 0) + (written or 0)
    if given is not None and cached and (total is None or total >= given + (made or 0) + cached):
        given += cached
    if (
        made is not None
        and thought
        and (thought > made or (total is not None and total == (given or 0) + made + thought))
    ):
        made += thought
    usage = Usage(
        input_tokens=given,
        cached_tokens=read,
        cache_write_tokens=written,
        output_tokens=made,
        reasoning_tokens=thought,
    )
    return None if usage == Usage() else usage


def _message(message: Json, log: ReadLog) -> Message | None:
    if message.get("role") != "tool":
        return chat_message(_usual(message), log)
    error = as_dict(message.get("error"))
    text = content_text(message.get("content")) or first_text(error.get("message")) or ""
    block = ToolResultBlock(text=text, call_id=first_text(message.get("tool_call_id")), is_error=bool(error))
    return Message(role="tool", blocks=(block,), name=first_text(message.get("function")))


def _usual(message: Json) -> Json:
    """A message with its calls as chat completions spell them: Inspect names the function in a string."""
    calls = dicts(message.get("tool_calls"))
    if not calls:
        return message
    named = [
        {"id": call.get("id"), "function": {"name": as_text(call.get("function")), "arguments": call.get("arguments")}}
        if isinstance(call.get("function"), str)
        else call
        for call in calls
    ]
    return {**message, "tool_calls": named}
