"""Chat-completion messages, replies and usage, in the spellings of OpenAI and the servers that follow it."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from traces.logprobs import token_logprobs
from traces.model import (
    Block,
    Message,
    RawBlock,
    ReasoningBlock,
    TextBlock,
    TokenLogprob,
    ToolCallBlock,
    ToolResultBlock,
    Usage,
)
from traces.parts import content_blocks, content_text
from traces.pool import json_text
from traces.readlog import ReadLog
from traces.records import Json, as_count, as_dict, dicts, first_text

_REASONING_KEYS = ("reasoning_content", "reasoning", "thinking", "reasoning_text")
_REASONING_LISTS = ("reasoning_details", "thinking_blocks")
_REASONING_PARTS = ("thinking", "reasoning", "redacted_thinking", "reasoning.text", "reasoning.encrypted")
_THINK_END = "</think>"

_CACHED_KEYS = ("cached_tokens", "cache_read_tokens", "cached_tokens_internal")
_CACHED_TOP_KEYS = ("cache_read_input_tokens", "prompt_cache_hit_tokens", "cached_tokens")


@dataclass(frozen=True, slots=True)
class Reply:
    """What one completion holds."""

    output: tuple[Block, ...]
    usage: Usage | None = None
    finish_reason: str | None = None
    model: str | None = None
    id: str | None = None
    logprobs: tuple[TokenLogprob, ...] = ()


def chat_message(message: Json, log: ReadLog) -> Message | None:
    """A prompt message; None for one without a role. The roles function and tool hold a tool's result."""
    role = first_text(message.get("role"))
    if role is None:
        return None
    name = first_text(message.get("name"))
    if role == "assistant":
        return Message(role=role, blocks=assistant_blocks(message, log), name=name)
    if role in ("tool", "function"):
        return Message(role="tool", blocks=_result_blocks(message, log), name=name)
    return Message(role=role, blocks=content_blocks(message.get("content"), log), name=name)


def chat_messages(messages: object, log: ReadLog) -> list[Message]:
    """The prompt messages of a request in order; members without a role are omitted and counted."""
    found: list[Message] = []
    for member in dicts(messages):
        message = chat_message(member, log)
        if message is None:
            log.omit("prompt message without a role")
        elif message.blocks:
            found.append(message)
    return found


def assistant_blocks(message: Json, log: ReadLog) -> tuple[Block, ...]:
    """Blocks of an assistant message in the order of generation: reasoning, text, calls.

    Content that still holds the tags of a reasoning block is what the model emitted and stays raw.
    """
    content = message.get("content")
    parts = [part for part in dicts(content) if part.get("type") in _REASONING_PARTS]
    rest = [part for part in content if part not in parts] if isinstance(content, list) and parts else content
    reasoning = _reasoning(message, parts)
    text = content_blocks(rest, log)
    if not reasoning:
        text = tuple(_raw(block) for block in text)
    if not text and isinstance(message.get("refusal"), str):
        text = content_blocks(message["refusal"], log)
    return (*reasoning, *text, *tool_calls(message))


def tool_calls(message: Json) -> tuple[ToolCallBlock, ...]:
    """The calls of an assistant message, legacy function_call included."""
    calls = [_call(call) for call in dicts(message.get("tool_calls"))]
    legacy = as_dict(message.get("function_call"))
    if legacy and not calls:
        calls.append(_call(legacy))
    return tuple(call for call in calls if call is not None)


def chat_usage(value: object) -> Usage | None:
    """Usage of a completion with input including cached and output including reasoning tokens.

    Takes both the prompt/completion and the input/output names. Some servers report reasoning beside the
    completion tokens: there the total, or reasoning above the output, tells. None when nothing is counted.
    """
    counts = as_dict(value)
    given = as_count(counts.get("prompt_tokens"))
    input_tokens = given if given is not None else as_count(counts.get("input_tokens"))
    given = as_count(counts.get("completion_tokens"))
    output_tokens = given if given is not None else as_count(counts.get("output_tokens"))
    details = as_dict(counts.get("prompt_tokens_details")) or as_dict(counts.get("input_tokens_details"))
    produced = as_dict(counts.get("completion_tokens_details")) or as_dict(counts.get("output_tokens_details"))
    cached = _first_count(details, _CACHED_KEYS)
    if cached is None:
        cached = _first_count(counts, _CACHED_TOP_KEYS)
    written = _first_count(counts, ("cache_creation_input_tokens",))
    if written is None:
        written = _first_count(details, ("cache_creation_tokens", "cache_write_tokens"))
    reasoning = _first_count(produced, ("reasoning_tokens",))
    if reasoning is None:
        reasoning = _first_count(counts, ("reasoning_tokens",))
    if input_tokens is not None and (cached or 0) + (written or 0) > input_tokens:
        input_tokens += (cached or 0) + (written or 0)
    output_tokens = _with_reasoning(output_tokens, reasoning, input_tokens, as_count(counts.get("total_tokens")))
    usage = Usage(
        input_tokens=input_tokens,
        cached_tokens=cached,
        cache_write_tokens=written,
        output_tokens=output_tokens,
        reasoning_tokens=reasoning if output_tokens is not None else None,
    )
    return None if usage == Usage() else usage


def completion(response: Json, log: ReadLog) -> Reply | None:
    """The reply of a chat (or text) completion; None without a choice. Further choices (n > 1) are omitted."""
    choices = dicts(response.get("choices"))
    if not choices:
        return None
    if len(choices) > 1:
        log.omit("further choice of one call (n > 1)", len(choices) - 1)
    choice = min(choices, key=lambda item: as_count(item.get("index")) or 0)
    message = choice.get("message")
    text = choice.get("text")
    if isinstance(message, dict):
        output = assistant_blocks(message, log)
    else:
        output = (RawBlock(text=text),) if isinstance(text, str) and text else ()
    usage = chat_usage(response.get("usage")) or chat_usage(as_dict(response.get("x_groq")).get("usage"))
    return Reply(
        output=output,
        usage=_believable(usage, output),
        finish_reason=first_text(choice.get("finish_reason")),
        model=first_text(response.get("model")),
        id=first_text(response.get("id")),
        logprobs=token_logprobs(choice.get("logprobs"), log),
    )


def _believable(usage: Usage | None, output: tuple[Block, ...]) -> Usage | None:
    """*usage* without a count of zero reasoning tokens where the reply holds reasoning text."""
    reasoned = any(isinstance(block, ReasoningBlock) and block.text for block in output)
    if usage is None or usage.reasoning_tokens != 0 or not reasoned:
        return usage
    return replace(usage, reasoning_tokens=None)


def _call(call: Json) -> ToolCallBlock | None:
    custom = as_dict(call.get("custom")) if not as_dict(call.get("function")).get("name") else {}
    inner = custom or as_dict(call.get("function")) or call
    name = first_text(inner.get("name"))
    if name is None:
        return None
    arguments = inner.get("input") if custom else inner.get("arguments")
    call_id = first_text(call.get("id"), call.get("call_id"))
    return ToolCallBlock(name=name, arguments=json_text(arguments), call_id=call_id, free_form=bool(custom))


def _result_blocks(message: Json, log: ReadLog) -> tuple[Block, ...]:
    content = message.get("content")
    blocks = content_blocks(content, log)
    media = tuple(block for block in blocks if not isinstance(block, TextBlock))
    text = "".join(block.text for block in blocks if isinstance(block, TextBlock)) if media else content_text(content)
    result = ToolResultBlock(text=text, call_id=first_text(message.get("tool_call_id"), message.get("id")))
    return (result, *media)


def _reasoning(message: Json, parts: list[Json]) -> tuple[ReasoningBlock, ...]:
    for key in _REASONING_KEYS:
        value = message.get(key)
        if isinstance(value, str) and value:
            return (ReasoningBlock(text=value),)
    details = [item for key in _REASONING_LISTS for item in dicts(message.get(key))]
    found = [_reasoning_part(part) for part in parts or details if part.get("type") != "reasoning.summary"]
    return tuple(block for block in found if block is not None)


def _reasoning_part(part: Json) -> ReasoningBlock | None:
    if part.get("type") not in _REASONING_PARTS:
        return None
    value = next((part[key] for key in ("thinking", "reasoning", "text") if part.get(key)), None)
    if isinstance(value, list):
        value = content_text(value)
    return ReasoningBlock(text=value if isinstance(value, str) and value else None)


def _raw(block: Block) -> Block:
    if isinstance(block, TextBlock) and (_THINK_END in block.text or block.text.lstrip().startswith("<think>")):
        return RawBlock(text=block.text)
    return block


def _first_count(counts: Json, keys: tuple[str, ...]) -> int | None:
    return next((count for key in keys if (count := as_count(counts.get(key))) is not None), None)


def _with_reasoning(output: int | None, reasoning: int | None, inputs: int | None, total: int | None) -> int | None:
    if output is None or not reasoning:
        return output
    apart = inputs is not None and total is not None and total == inputs + output + reasoning
    return output + reasoning if apart or reasoning > output else output
