"""Replies of the model APIs, whole or streamed, recognised by their content."""

from __future__ import annotations

from enum import StrEnum

from traces.model import Block, RawBlock, TextBlock, ToolCallBlock, Usage
from traces.pool import json_text
from traces.readers import (
    anthropic_api,
    anthropic_messages,
    anthropic_stream,
    gemini,
    openai_responses,
    openai_stream,
    response_stream,
)
from traces.readers.api_prompts import converse_blocks
from traces.readers.event_stream import merged_converse
from traces.readers.openai_messages import Reply, assistant_blocks, completion
from traces.readlog import ReadLog
from traces.records import Json, as_count, as_dict, as_list, as_text, dicts, first_text, parsed

_COHERE_EVENTS = ("message-start", "content-start", "content-delta", "tool-call-start", "message-end")


class Family(StrEnum):
    """A kind of model API."""

    CHAT = "chat"
    RESPONSES = "responses"
    ANTHROPIC = "anthropic"
    GEMINI = "gemini"
    CONVERSE = "converse"
    COHERE = "cohere"
    TEXT = "text"


def family_of(events: list[Json]) -> Family | None:
    """The API that made a reply of *events*; a reply that was not streamed is one event."""
    for event in events:
        found = _family(event)
        if found is not None:
            return found
    return None


def reply_of(family: Family, events: list[Json], log: ReadLog) -> Reply | None:
    """The reply that *events* hold; None when they hold none."""
    return _DECODERS[family](events, log)


def _family(event: Json) -> Family | None:
    tests = (
        (Family.RESPONSES, response_stream.is_response_event(event) or _is_response(event)),
        (Family.CHAT, bool(dicts(event.get("choices"))) or openai_stream.is_chunk(event)),
        (Family.GEMINI, bool(dicts(event.get("candidates"))) or "usageMetadata" in event),
        (Family.ANTHROPIC, anthropic_stream.is_stream_event(event) or _is_message(event)),
        (Family.CONVERSE, _is_converse(event)),
        (Family.COHERE, event.get("type") in _COHERE_EVENTS or _is_cohere(event)),
        (Family.TEXT, isinstance(event.get("generated_text"), str)),
    )
    return next((family for family, fits in tests if fits), None)


def _is_response(event: Json) -> bool:
    return event.get("object") == "response" and isinstance(event.get("output"), list)


def _is_message(event: Json) -> bool:
    return event.get("type") == "message" and isinstance(event.get("content"), list) and "role" in event


def _is_converse(event: Json) -> bool:
    return isinstance(as_dict(event.get("output")).get("message"), dict) or "contentBlockDelta" in event


def _is_cohere(event: Json) -> bool:
    return "finish_reason" in event and (isinstance(event.get("message"), dict) or isinstance(event.get("text"), str))


def _chat(events: list[Json], log: ReadLog) -> Reply | None:
    streamed = len(events) > 1 or any(openai_stream.is_chunk(event) for event in events)
    merged = openai_stream.merged_chunks(events) if streamed else events[0]
    reply = completion(merged, log)
    failure = next((as_dict(event.get("error")) for event in events if event.get("error")), None)
    if reply is None or failure is None:
        return reply
    rejected = _failed_call(failure)
    output = (*reply.output, *((rejected,) if rejected is not None else ()))
    return Reply(output, reply.usage, first_text(failure.get("code")) or "error", reply.model, reply.id)


def _failed_call(failure: Json) -> Block | None:
    """The call that a server refused after its generation, from the error that ends the stream."""
    text = as_text(failure.get("failed_generation"))
    if not text:
        return None
    try:
        call = as_dict(parsed(text.encode()))
    except ValueError:
        call = {}
    name = first_text(call.get("name"))
    return RawBlock(text=text) if name is None else ToolCallBlock(name=name, arguments=json_text(call.get("arguments")))


def _responses(events: list[Json], log: ReadLog) -> Reply | None:
    whole = events[0] if _is_response(events[0]) else openai_responses.READER.merged(events)
    return openai_responses.READER.reply(whole, log)


def _anthropic(events: list[Json], log: ReadLog) -> Reply | None:
    message = events[0] if _is_message(events[0]) else anthropic_api.READER.merged(events)
    return anthropic_api.READER.reply(message, log)


def _gemini(events: list[Json], log: ReadLog) -> Reply | None:
    return gemini.READER.reply(events[0] if len(events) == 1 else gemini.READER.merged(events), log)


def _converse(events: list[Json], log: ReadLog) -> Reply | None:
    reply = events[0] if "output" in events[0] else merged_converse(events)
    message = as_dict(as_dict(reply.get("output")).get("message"))
    counts = as_dict(reply.get("usage"))
    usage = anthropic_messages.anthropic_usage(
        {
            "input_tokens": counts.get("inputTokens"),
            "output_tokens": counts.get("outputTokens"),
            "cache_read_input_tokens": counts.get("cacheReadInputTokens"),
            "cache_creation_input_tokens": counts.get("cacheWriteInputTokens"),
        }
    )
    output = converse_blocks(dicts(message.get("content")), log)
    return Reply(output, usage, first_text(reply.get("stopReason")), None, None)


def _cohere(events: list[Json], log: ReadLog) -> Reply | None:
    reply = events[0] if _is_cohere(events[0]) else _merged_cohere(events)
    message = as_dict(reply.get("message")) or {"content": reply.get("text"), "tool_calls": _v1_calls(reply)}
    plan = first_text(message.get("tool_plan"))
    blocks = assistant_blocks(message, log)
    counts = as_dict(as_dict(reply.get("usage") or reply.get("meta")).get("tokens"))
    usage = Usage(
        input_tokens=as_count(counts.get("input_tokens")), output_tokens=as_count(counts.get("output_tokens"))
    )
    return Reply(
        output=(*((TextBlock(text=plan),) if plan else ()), *blocks),
        usage=usage if usage != Usage() else None,
        finish_reason=first_text(reply.get("finish_reason")),
        model=None,
        id=first_text(reply.get("id"), reply.get("response_id")),
    )


def _v1_calls(reply: Json) -> list[Json]:
    calls = dicts(reply.get("tool_calls"))
    return [{"name": call.get("name"), "arguments": call.get("parameters")} for call in calls]


def _merged_cohere(events: list[Json]) -> Json:
    """The reply of a version 2 stream: its deltas as one chunk stream of the chat kind."""
    reply: Json = {}
    chunks: list[Json] = []
    for event in events:
        delta = as_dict(event.get("delta"))
        message = as_dict(delta.get("message"))
        reply |= {key: delta[key] for key in ("usage", "finish_reason") if key in delta}
        reply |= {key: event[key] for key in ("id",) if event.get(key) is not None}
        calls = message.get("tool_calls")
        content = message.get("content")
        piece: Json = {"content": [content] if isinstance(content, dict) else content}
        if isinstance(calls, dict):
            piece["tool_calls"] = [{"index": event.get("index"), **calls}]
        if isinstance(message.get("tool_plan"), str):
            reply["plan"] = f"{reply.get('plan', '')}{message['tool_plan']}"
        chunks.append({"choices": [{"delta": piece}]})
    merged = as_dict(dicts(openai_stream.merged_chunks(chunks)["choices"])[0].get("message"))
    return {**reply, "message": {**merged, "tool_plan": reply.get("plan")}}


def _text(events: list[Json], log: ReadLog) -> Reply | None:
    text = as_text(events[0].get("generated_text")) or ""
    details = as_dict(events[0].get("details"))
    count = as_count(details.get("generated_tokens"))
    usage = Usage(input_tokens=len(as_list(details.get("prefill"))) or None, output_tokens=count)
    output: tuple[Block, ...] = (RawBlock(text=text),) if text else ()
    if len(events) > 1:
        log.omit("further choice of one call (n > 1)", len(events) - 1)
    return Reply(output, usage if usage != Usage() else None, first_text(details.get("finish_reason")), None, None)


_DECODERS = {
    Family.CHAT: _chat,
    Family.RESPONSES: _responses,
    Family.ANTHROPIC: _anthropic,
    Family.GEMINI: _gemini,
    Family.CONVERSE: _converse,
    Family.COHERE: _cohere,
    Family.TEXT: _text,
}
