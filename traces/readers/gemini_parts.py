"""Parts, function responses and usage of the Gemini API, as several command-line agents record them."""

from __future__ import annotations

from collections.abc import Iterable

from traces.model import Block, ReasoningBlock, TextBlock, ToolCallBlock, Usage
from traces.parts import content_blocks, content_text
from traces.pool import json_text
from traces.readlog import ReadLog
from traces.records import Json, as_count, as_dict, as_text, first_text


def output_blocks(parts: Iterable[Json], log: ReadLog) -> tuple[Block, ...]:
    """Blocks of what a model sent; neighbouring pieces of a stream's text run together."""
    blocks: list[Block] = []
    for part in parts:
        call = as_dict(part.get("functionCall"))
        if call:
            name = first_text(call.get("name")) or "unknown"
            call_id = first_text(call.get("id"))
            blocks.append(ToolCallBlock(name=name, arguments=json_text(call.get("args")), call_id=call_id))
            continue
        text = as_text(part.get("text"))
        if text is None:
            log.omit("Gemini part that is no text and no call")
        elif text:
            _append(blocks, text, is_thought=part.get("thought") is True)
    return tuple(blocks)


def _append(blocks: list[Block], text: str, *, is_thought: bool) -> None:
    last = blocks[-1] if blocks else None
    if is_thought:
        # The API sends summaries of thoughts, never the thoughts: one hidden block stands for a run of them.
        if last != ReasoningBlock():
            blocks.append(ReasoningBlock())
    elif isinstance(last, TextBlock):
        blocks[-1] = TextBlock(text=last.text + text)
    else:
        blocks.append(TextBlock(text=text))


def input_blocks(parts: Iterable[Json], log: ReadLog) -> tuple[Block, ...]:
    """Blocks of a prompt message's parts, without function responses."""
    return tuple(b for part in parts if "functionResponse" not in part for b in content_blocks(part, log))


def function_responses(parts: Iterable[Json]) -> Iterable[tuple[str, str | None, str | None]]:
    """Yield (text, call id, name) of each function response among *parts*."""
    for part in parts:
        answer = as_dict(part.get("functionResponse"))
        if answer:
            yield response_text(answer.get("response")), first_text(answer.get("id")), first_text(answer.get("name"))


def response_text(response: object) -> str:
    """Text of a function's response object: its only field's text, or the object as JSON."""
    fields = as_dict(response)
    for key in ("output", "error", "content"):
        if set(fields) == {key}:
            return content_text(fields[key])
    return content_text(response)


def api_usage(meta: Json) -> Usage:
    """Usage from usageMetadata. Thought tokens are beside the candidate tokens unless the total says otherwise."""
    return _usage(
        meta,
        ("promptTokenCount", "toolUsePromptTokenCount", "cachedContentTokenCount"),
        ("candidatesTokenCount", "thoughtsTokenCount", "totalTokenCount"),
    )


def chat_usage(tokens: Json) -> Usage:
    """Usage from the ``tokens`` object of a recorded chat."""
    return _usage(tokens, ("input", "tool", "cached"), ("output", "thoughts", "total"))


def _usage(counts: Json, inputs: tuple[str, str, str], outputs: tuple[str, str, str]) -> Usage:
    prompt, tool, cached = (as_count(counts.get(key)) for key in inputs)
    answer, thoughts, total = (as_count(counts.get(key)) for key in outputs)
    sent = None if prompt is None else prompt + (tool or 0)
    includes = answer is not None and sent is not None and total == sent + answer
    produced = answer if answer is None or includes else answer + (thoughts or 0)
    if produced is not None and thoughts is not None and thoughts > produced:
        produced += thoughts
    return Usage(input_tokens=sent, cached_tokens=cached, output_tokens=produced, reasoning_tokens=thoughts)
