"""What a span says of a model call or a tool run, in the conventions of OpenTelemetry, OpenInference and Vercel."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from traces.calls import ModelCall, ToolRun
from traces.model import Block, Message, ReasoningBlock, TextBlock, Times, Usage
from traces.readers.loose_messages import json_value, loose_output, loose_prompt
from traces.readers.openai_messages import chat_usage
from traces.readers.spans import Span, SpanEvent, at
from traces.readers.tools import tool_specs
from traces.readlog import ReadLog
from traces.records import Json, as_count, as_dict, as_list, dicts, first_text

_CALL_OPERATIONS = ("chat", "text_completion", "generate_content", "completion", "responses")
_TOOL_KINDS = ("execute_tool", "tool", "TOOL", "ai.toolCall")
_AGENT_KINDS = ("invoke_agent", "create_agent", "agent", "AGENT")
_EMBEDDING_KINDS = ("embeddings", "embedding", "EMBEDDING", "RERANKER", "rerank")
_PROMPT_EVENTS = ("system", "user", "assistant", "tool")
_FIRST_TOKEN_EVENTS = ("ai.stream.firstChunk", "First Token Stream Event", "gen_ai.content.first_token")
_DETAILS_EVENT = "gen_ai.client.inference.operation.details"


class Kind(StrEnum):
    """What a span stands for."""

    CALL = "call"
    CALL_OUTER = "outer"
    """A Vercel span around the spans of its calls."""
    TOOL = "tool"
    AGENT = "agent"
    EMBEDDING = "embedding"
    OTHER = "other"


def kind_of(span: Span) -> Kind:
    """The kind of *span* by its operation, else by the attributes of a model call."""
    vercel = first_text(span.at("ai.operationId"))
    if vercel is not None:
        return _vercel_kind(vercel)
    named = (
        span.at("gen_ai.operation.name"),
        span.at("openinference.span.kind"),
        span.at("traceloop.span.kind"),
        span.at("llm.request.type"),
    )
    for name in named:
        kind = _named_kind(name)
        if kind is not None:
            return kind
    modelled = span.at("gen_ai.request.model", "gen_ai.response.model", "llm.model_name") is not None
    counted = span_usage(span) is not None or span.at("gen_ai.prompt", "gen_ai.input.messages") is not None
    return Kind.CALL if modelled and counted else Kind.OTHER


def call_of(span: Span, log: ReadLog) -> ModelCall:
    """The model call that *span* records."""
    prompt, output = _prompt(span, log), _output(span, log)
    finish = span.at("gen_ai.response.finish_reasons", "ai.response.finishReason", "gen_ai.completion.0.finish_reason")
    limit = span.at("gen_ai.request.max_tokens", "llm.request.max_tokens", "ai.settings.maxOutputTokens")
    invocation = as_dict(json_value(span.at("llm.invocation_parameters")))
    tools = span.at("gen_ai.tool.definitions", "ai.prompt.tools", "llm.request.functions") or invocation.get("tools")
    listed = [item.get("tool", item) for item in dicts(span.at("llm.tools"))]
    schemas = [json_value(as_dict(item).get("json_schema", item)) for item in listed]
    return ModelCall(
        prompt=prompt or None,
        output=output,
        usage=span_usage(span),
        times=Times(sent_s=span.start_s, first_token_s=_first_token(span), end_s=span.end_s),
        id=first_text(span.at("gen_ai.response.id", "ai.response.id")) or span.id,
        model=first_text(
            span.at("gen_ai.response.model"), span.at("gen_ai.request.model", "llm.model_name", "ai.model.id")
        ),
        max_tokens=as_count(limit) or None,
        finish_reason=first_text(finish, *as_list(json_value(finish))),
        tools=tool_specs(json_value(tools) or schemas),
    )


def run_of(span: Span) -> ToolRun:
    """The tool run that *span* records."""
    name = first_text(span.at("gen_ai.tool.name", "tool.name", "ai.toolCall.name", "traceloop.entity.name"))
    call_id = first_text(span.at("gen_ai.tool.call.id", "tool_call.id", "ai.toolCall.id", "tool.call.id"))
    return ToolRun(name or span.name.removeprefix("execute_tool "), span.start_s, span.end_s, call_id)


def span_usage(span: Span) -> Usage | None:
    """Token counts of *span*, reconciled by chat_usage; None when it has none."""
    counts: Json = {
        "prompt_tokens": _count(span, *_spelled("input_tokens", "prompt_tokens"), "llm.token_count.prompt"),
        "completion_tokens": _count(
            span, *_spelled("output_tokens", "completion_tokens"), "llm.token_count.completion"
        ),
        "total_tokens": _count(span, "gen_ai.usage.total_tokens", "llm.usage.total_tokens", "llm.token_count.total"),
        "cached_tokens": _count(span, *_spelled(*_CACHED), "llm.token_count.prompt_details.cache_read"),
        "cache_creation_input_tokens": _count(span, *_spelled(*_WRITTEN), "llm.token_count.prompt_details.cache_write"),
        "reasoning_tokens": _count(span, *_spelled(*_REASONING), "llm.token_count.completion_details.reasoning"),
    }
    vercel = {
        "prompt_tokens": _count(span, "ai.usage.inputTokens", "ai.usage.promptTokens"),
        "completion_tokens": _count(span, "ai.usage.outputTokens", "ai.usage.completionTokens"),
        "total_tokens": _count(span, "ai.usage.totalTokens", "ai.usage.tokens"),
        "cached_tokens": _count(span, "ai.usage.cachedInputTokens", "ai.usage.inputTokenDetails.cacheReadTokens"),
        "reasoning_tokens": _count(span, "ai.usage.reasoningTokens", "ai.usage.outputTokenDetails.reasoningTokens"),
    }
    return chat_usage({key: value if value is not None else vercel.get(key) for key, value in counts.items()})


_CACHED = ("cache_read.input_tokens", "cache_read_input_tokens", "cached_tokens", "details.cache_read_tokens")
_WRITTEN = ("cache_creation.input_tokens", "cache_creation_input_tokens", "details.cache_write_tokens")
_REASONING = (
    "reasoning_tokens",
    "reasoning.output_tokens",
    "details.reasoning_tokens",
    "details.thoughts_tokens",
    "output_tokens_details.reasoning",
)


def _spelled(*names: str) -> tuple[str, ...]:
    return tuple(f"{space}.usage.{name}" for space in ("gen_ai", "llm") for name in names)


def _count(span: Span, *paths: str) -> int | None:
    for path in paths:
        value = span.at(path)
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
            value = int(value)
        count = as_count(value)
        if count is not None:
            return count
    return None


def _vercel_kind(operation: str) -> Kind:
    if operation == "ai.toolCall":
        return Kind.TOOL
    if "embed" in operation.lower() or "rerank" in operation.lower():
        return Kind.EMBEDDING
    return Kind.CALL if operation.endswith((".doGenerate", ".doStream")) else Kind.CALL_OUTER


def _named_kind(name: object) -> Kind | None:
    if name in _CALL_OPERATIONS or name == "LLM":
        return Kind.CALL
    if name in _TOOL_KINDS:
        return Kind.TOOL
    if name in _AGENT_KINDS:
        return Kind.AGENT
    return Kind.EMBEDDING if name in _EMBEDDING_KINDS else None


def _prompt(span: Span, log: ReadLog) -> list[Message]:
    system = loose_prompt(span.at("gen_ai.system_instructions", "gen_ai.request.system_instructions"), log)
    instructions = [Message(role="system", blocks=message.blocks) for message in system]
    found = span.at("gen_ai.input.messages", "llm.input_messages", "ai.prompt.messages", "gen_ai.prompt", "llm.prompts")
    details = next((event.attributes for event in span.events if event.name == _DETAILS_EVENT), {})
    if found is None:
        found = at(details, "gen_ai.input.messages")
    if found is None:
        found = _event_messages(span)
    if not found:
        found = span.at("request_data", "input.value", "ai.prompt", "all_messages_events")
    return [*instructions, *loose_prompt(found, log)]


def _output(span: Span, log: ReadLog) -> tuple[Block, ...] | None:
    vercel = _vercel_output(span, log)
    if vercel is not None:
        return vercel
    found = span.at("gen_ai.output.messages", "llm.output_messages", "gen_ai.completion")
    details = next((event.attributes for event in span.events if event.name == _DETAILS_EVENT), {})
    if found is None:
        found = at(details, "gen_ai.output.messages")
    if found is None:
        choices = [_body(event) for event in _all_events(span) if event.name == "gen_ai.choice"]
        found = [_chosen(choice) for choice in choices] or _event_completion(span)
    if found is None:
        found = span.at("response_data", "output.value")
    return loose_output(found, log)


def _vercel_output(span: Span, log: ReadLog) -> tuple[Block, ...] | None:
    text, made = first_text(span.at("ai.response.text")), first_text(span.at("ai.response.object"))
    thought = first_text(span.at("ai.response.reasoning"))
    calls = loose_output(span.at("ai.response.toolCalls"), log) or ()
    blocks = [ReasoningBlock(text=thought)] if thought is not None else []
    texts = [TextBlock(text=value) for value in (text, made) if value is not None]
    return (*blocks, *texts, *calls) or None


def _all_events(span: Span) -> list[SpanEvent]:
    """The events of *span*, those included that an ``events`` attribute holds as JSON."""
    listed = dicts(json_value(span.at("events")))
    return [*span.events, *(SpanEvent(first_text(row.get("event.name")) or "", None, row) for row in listed)]


def _event_messages(span: Span) -> list[object]:
    found: list[object] = []
    for event in _all_events(span):
        role = event.name.removeprefix("gen_ai.").removesuffix(".message")
        if event.name.startswith("gen_ai.") and event.name.endswith(".message") and role in _PROMPT_EVENTS:
            found.append({"role": role, **_body(event)})
        elif event.name in ("gen_ai.content.prompt", "gen_ai.prompt"):
            found.append(json_value(at(event.attributes, "gen_ai.prompt")))
    return [message for message in found if message]


def _event_completion(span: Span) -> object:
    """What an event of the first conventions says was generated."""
    named = (event for event in _all_events(span) if event.name in ("gen_ai.content.completion", "gen_ai.completion"))
    return next((json_value(at(event.attributes, "gen_ai.completion")) for event in named), None)


def _body(event: SpanEvent) -> Json:
    """The message of an event: its attributes, or the JSON text in one of them."""
    text = at(event.attributes, "gen_ai.event.content", "event_body", "body")
    body = as_dict(json_value(text)) or event.attributes
    message = json_value(body.get("message"))
    return {**body, "message": message} if message is not None else body


def _chosen(choice: Json) -> Json:
    inner = choice.get("message")
    message = (
        as_dict(inner)
        if isinstance(inner, dict)
        else {"content": inner if inner is not None else choice.get("content")}
    )
    calls = json_value(choice.get("tool_calls"))
    return {"role": "assistant", "index": choice.get("index"), **({"tool_calls": calls} if calls else {}), **message}


def _first_token(span: Span) -> float | None:
    for event in span.events:
        if event.name in _FIRST_TOKEN_EVENTS and event.at_s is not None:
            return event.at_s
    for path, units_per_s in (
        ("ai.response.msToFirstChunk", 1e3),
        ("gen_ai.server.time_to_first_token", 1.0),
        ("gen_ai.response.time_to_first_chunk", 1.0),
    ):
        value = span.at(path)
        if isinstance(value, (int, float)) and span.start_s is not None and value >= 0:
            return span.start_s + value / units_per_s
    return None


def borrowed(call: ModelCall, outer: Sequence[ModelCall]) -> ModelCall:
    """*call* with the text that only a span around it holds."""
    for other in outer:
        call.prompt = call.prompt or other.prompt
        call.output = call.output or other.output
    return call
