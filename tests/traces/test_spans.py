"""Spans of model calls: OpenTelemetry of all ages, OpenInference, Vercel."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.traces.fuzz import JSON_VALUES, broken, survive
from tests.traces.reading import read
from traces.errors import TraceError
from traces.model import (
    LengthPrompt,
    MessagePrompt,
    OpaqueBlock,
    ReasoningBlock,
    Session,
    SpawnLink,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    ToolWait,
    Usage,
    prompt_messages,
)
from traces.readers.span_sessions import nodes_of
from traces.readers.spans import spans_of
from traces.readlog import ReadLog
from traces.registry import reader_named

BASE_S = 1_700_000_000


def any_value(value: object) -> dict[str, object]:
    """*value* in OTLP JSON; integers are texts there."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [any_value(item) for item in value]}}
    if isinstance(value, dict):
        pairs = [{"key": key, "value": any_value(item)} for key, item in value.items()]
        return {"kvlistValue": {"values": pairs}}
    return {"stringValue": value}


def span(
    name: str, start: float, end: float, attributes: dict[str, object], parent: str | None = None, **more: object
) -> dict[str, object]:
    """An OTLP span of *name*, which is also its id; times in seconds after BASE_S."""
    return {
        "traceId": "t1",
        "spanId": name,
        **({"parentSpanId": parent} if parent else {}),
        "name": name,
        "startTimeUnixNano": str(int((BASE_S + start) * 1e9)),
        "endTimeUnixNano": str(int((BASE_S + end) * 1e9)),
        "attributes": [{"key": key, "value": any_value(value)} for key, value in attributes.items()],
        **more,
    }


def otlp(*spans: dict[str, object]) -> dict[str, object]:
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "x"}, "spans": list(spans)}]}]}


USER = {"role": "user", "parts": [{"type": "text", "content": "hi"}]}
ASSISTANT = {
    "role": "assistant",
    "parts": [
        {"type": "reasoning", "content": "hm"},
        {"type": "text", "content": "let me see"},
        {"type": "tool_call", "id": "k", "name": "look", "arguments": {"x": 1}},
    ],
    "finish_reason": "tool_call",
}
RESULT = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "k", "response": "seen"}]}
EXPECTED = (
    ReasoningBlock(text="hm"),
    TextBlock(text="let me see"),
    ToolCallBlock(name="look", arguments='{"x": 1}', call_id="k"),
)
COUNTS = {"gen_ai.usage.input_tokens": 40, "gen_ai.usage.output_tokens": 9}
CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", **COUNTS}


def chat(prompt: object, output: object) -> dict[str, object]:
    return {**CHAT, "gen_ai.input.messages": prompt, "gen_ai.output.messages": output}


AGENT = otlp(
    span("agent", 0, 9, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "main", **COUNTS}),
    span("c1", 1, 3, chat(json.dumps([USER]), json.dumps([ASSISTANT])), "agent"),
    span(
        "run",
        3.25,
        5,
        {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "gen_ai.tool.call.id": "k"},
        "agent",
    ),
    span(
        "c2",
        5.5,
        6,
        chat(
            json.dumps([USER, ASSISTANT, RESULT]),
            json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "ok"}]}]),
        ),
        "agent",
    ),
)


def only_output(sessions: list[Session]) -> tuple[object, ...]:
    (session,) = sessions
    (turn,) = session.turns
    return turn.final.output


def test_otlp_agent_run_with_a_tool_span() -> None:
    (session,) = read("otel", json.dumps(AGENT))
    first, second = session.turns
    assert (session.id, session.agent, session.start_s) == ("t1", "main", BASE_S + 1)
    assert first.final.output == EXPECTED
    assert first.final.usage == Usage(input_tokens=40, output_tokens=9)
    assert first.tool_waits == (ToolWait(name="look", duration_s=2.0, call_id="k"),)
    assert second.parent == "c1"
    assert [message.role for message in prompt_messages(session, second)] == ["user", "assistant", "tool"]
    assert session.messages[-1].blocks == (ToolResultBlock(text="seen", call_id="k"),)


def test_structured_attributes_and_json_text_read_alike() -> None:
    structured = read("otel", json.dumps(otlp(span("c", 0, 1, chat([USER], [ASSISTANT])))))
    text = read("otel", json.dumps(otlp(span("c", 0, 1, chat(json.dumps([USER]), json.dumps([ASSISTANT]))))))
    assert structured == text
    assert only_output(structured) == EXPECTED


def test_flattened_prompt_and_completion() -> None:
    attributes = {
        "llm.request.type": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.prompt.0.role": "system",
        "gen_ai.prompt.0.content": "brief",
        "gen_ai.prompt.1.role": "user",
        "gen_ai.prompt.1.content": "hi",
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": "let me see",
        "gen_ai.completion.0.finish_reason": "tool_calls",
        "gen_ai.completion.0.tool_calls.0.id": "k",
        "gen_ai.completion.0.tool_calls.0.name": "look",
        "gen_ai.completion.0.tool_calls.0.arguments": '{"x": 1}',
        "gen_ai.usage.prompt_tokens": 11,
        "gen_ai.usage.completion_tokens": 6,
    }
    sessions = read("otel", json.dumps(otlp(span("c", 0, 1, attributes))))
    assert only_output(sessions) == EXPECTED[1:]
    assert [message.role for message in sessions[0].messages] == ["system", "user"]
    assert sessions[0].turns[0].final.usage == Usage(input_tokens=11, output_tokens=6)


def test_messages_in_span_events() -> None:
    events = [
        {"name": "gen_ai.user.message", "attributes": [{"key": "content", "value": any_value("hi")}]},
        {
            "name": "gen_ai.choice",
            "attributes": [
                {"key": "index", "value": any_value(0)},
                {"key": "message", "value": any_value(json.dumps({"role": "assistant", "content": "ho"}))},
            ],
        },
    ]
    sessions = read("otel", json.dumps(otlp(span("c", 0, 1, CHAT, events=events))))
    assert only_output(sessions) == (TextBlock(text="ho"),)
    assert sessions[0].messages[0].blocks == (TextBlock(text="hi"),)


def test_messages_in_the_events_of_the_first_conventions() -> None:
    events = [
        {
            "name": f"gen_ai.content.{kind}",
            "attributes": [
                {"key": f"gen_ai.{kind}", "value": any_value(json.dumps([{"role": role, "content": said}]))}
            ],
        }
        for kind, role, said in (("prompt", "user", "hi"), ("completion", "assistant", "ho"))
    ]
    sessions = read("otel", json.dumps(otlp(span("c", 0, 1, CHAT, events=events))))
    assert only_output(sessions) == (TextBlock(text="ho"),)
    assert sessions[0].messages[0].blocks == (TextBlock(text="hi"),)


def test_without_content_the_lengths_remain() -> None:
    attributes = {**CHAT, "gen_ai.usage.reasoning_tokens": 4, "gen_ai.usage.cache_read.input_tokens": 30}
    (session,) = read("otel", json.dumps(otlp(span("c", 0, 1, attributes))))
    turn = session.turns[0]
    assert turn.prompt == LengthPrompt(tokens=40)
    assert turn.final.output == (ReasoningBlock(tokens=4), OpaqueBlock(tokens=5))
    assert turn.final.usage == Usage(input_tokens=40, cached_tokens=30, output_tokens=9, reasoning_tokens=4)


def test_spans_in_lines_over_two_traces_of_one_conversation() -> None:
    one = otlp(span("a", 0, 1, {**chat([USER], [ASSISTANT]), "gen_ai.conversation.id": "talk"}))
    other = span("b", 61, 62, {**chat([USER], [ASSISTANT]), "gen_ai.conversation.id": "talk"})
    two = otlp({**other, "traceId": "t2"})
    (session,) = read("otel", f"{json.dumps(one)}\n{json.dumps(two)}\n")
    assert session.id == "talk"
    assert [turn.parent for turn in session.turns] == [None, "a"]


def test_messages_and_tools_that_calls_repeat_are_held_once() -> None:
    tools = json.dumps([{"type": "function", "name": "look", "parameters": {"type": "object"}}])
    spans = [
        span(f"c{at}", at, at + 1, {**chat(json.dumps([USER] * at), [ASSISTANT]), "gen_ai.tool.definitions": tools})
        for at in (1, 2)
    ]
    first, second = (node.call for node in nodes_of(spans_of(otlp(*spans)), ReadLog()))
    assert first is not None
    assert second is not None
    assert first.prompt
    assert [message is first.prompt[0] for message in second.prompt or ()] == [True, True]
    assert first.tools
    assert second.tools is first.tools


def test_nested_agents_are_sessions_of_their_own() -> None:
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"}
    spans = otlp(
        span("outer", 0, 9, {**agent, "gen_ai.agent.name": "main"}),
        span("c1", 1, 2, chat([USER], [ASSISTANT]), "outer"),
        span("inner", 2, 8, agent, "outer"),
        span("k1", 3, 4, chat([USER], [ASSISTANT]), "inner"),
    )
    main, helper = read("otel", json.dumps(spans))
    assert (main.id, helper.id, helper.agent) == ("t1", "t1/inner", "helper")
    assert helper.parent == SpawnLink(session_id="t1", turn_id="c1")


def test_calls_side_by_side_wait_for_the_same_one() -> None:
    spans = otlp(
        span("a", 0, 1, chat([USER], [ASSISTANT])),
        span("b", 2, 5, chat([USER], [ASSISTANT])),
        span("c", 3, 4, chat([USER], [ASSISTANT])),
    )
    (session,) = read("otel", json.dumps(spans))
    assert [turn.parent for turn in session.turns] == [None, "a", "a"]


def test_parents_that_form_a_cycle_end() -> None:
    spans = otlp(
        span("a", 0, 1, {"gen_ai.operation.name": "invoke_agent"}, "b"),
        span("b", 0, 1, {"gen_ai.operation.name": "invoke_agent"}, "a"),
        span("c", 0, 1, chat([USER], [ASSISTANT]), "b"),
    )
    assert sum(len(session.turns) for session in read("otel", json.dumps(spans))) == 1


OPENINFERENCE: list[object] = [
    {
        "name": "llm",
        "context": {"trace_id": "0x1", "span_id": "0x2"},
        "parent_id": "0x9",
        "start_time": "2024-05-01T00:00:00.000000+00:00",
        "end_time": "2024-05-01T00:00:02.500000+00:00",
        "attributes": {
            "openinference.span.kind": "LLM",
            "llm.model_name": "m",
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.contents.0.message_content.type": "text",
            "llm.input_messages.0.message.contents.0.message_content.text": "hi",
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.tool_calls.0.tool_call.id": "k",
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "look",
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": json.dumps('{"x": 1}'),
            "llm.token_count.prompt": 12,
            "llm.token_count.completion": 7,
            "llm.token_count.total": 19,
            "llm.token_count.completion_details.reasoning": 2,
        },
        "events": [{"name": "First Token Stream Event", "timestamp": "2024-05-01T00:00:01Z", "attributes": {}}],
    },
    {
        "name": "chain",
        "context": {"trace_id": "0x1", "span_id": "0x9"},
        "parent_id": None,
        "start_time": "2024-05-01T00:00:00Z",
        "end_time": "2024-05-01T00:00:03Z",
        "attributes": {"openinference.span.kind": "CHAIN", "llm.token_count.total": 19},
    },
]


def test_openinference_call_with_arguments_encoded_twice() -> None:
    (session,) = read("openinference", json.dumps(OPENINFERENCE))
    (turn,) = session.turns
    assert turn.final.output == (
        ReasoningBlock(tokens=2),
        ToolCallBlock(name="look", arguments='{"x": 1}', call_id="k"),
    )
    times = turn.final.times
    assert times is not None
    assert (times.first_token_s, times.end_s) == (1714521601.0, 1714521602.5)
    assert isinstance(turn.prompt, MessagePrompt)


def vercel(operation: str, name: str, **attributes: object) -> dict[str, object]:
    known = {"ai.operationId": operation, "ai.usage.inputTokens": 5, "ai.usage.outputTokens": 3, **attributes}
    times = {"startTime": [BASE_S, 5], "endTime": [BASE_S + 1, 0]}
    return {"name": operation, "spanContext": {"traceId": name, "spanId": name}, "attributes": known, **times}


def test_vercel_counts_the_calls_and_not_the_spans_around_them() -> None:
    log = ReadLog()
    prompt = json.dumps([{"role": "user", "content": [{"type": "text", "text": "hi"}]}])
    calls = json.dumps([{"toolCallId": "k", "toolName": "look", "input": '{"x": 1}'}])
    spans = [
        vercel("ai.generateText", "p", **{"ai.response.text": "ho"}),
        vercel("ai.generateText.doGenerate", "c", **{"ai.prompt.messages": prompt, "ai.response.toolCalls": calls}),
        vercel("ai.embed.doEmbed", "e"),
    ]
    sessions = read("openinference", json.dumps(spans), log)
    assert only_output(sessions) == EXPECTED[2:]
    assert sum(log.duplicates.values()) == 1
    assert sum(log.omitted.values()) == 1
    alone = read("openinference", json.dumps(spans[:1]))
    assert only_output(alone) == (TextBlock(text="ho"),)


def test_record_without_spans_is_an_error_with_its_line() -> None:
    with pytest.raises(TraceError, match=r"trace.jsonl:2: no span"):
        read("otel", f"{json.dumps(AGENT)}\n{{}}\n")


_FORMATS: dict[str, list[object]] = {
    "otel": [AGENT],
    "openinference": [OPENINFERENCE, [vercel("ai.generateText.doGenerate", "c", **{"ai.prompt.messages": "[]"})]],
}


@pytest.mark.parametrize("name", _FORMATS)
@given(data=st.data())
@settings(max_examples=50, deadline=None)
def test_broken_recordings_give_sessions_or_an_error_of_our_own(name: str, data: st.DataObject) -> None:
    raw = data.draw(broken(_FORMATS[name], lines=True))
    for session in survive(reader_named(name), raw):
        names = [turn.id for turn in session.turns]
        assert len(names) == len(set(names))
        assert all(turn.parent is None or turn.parent in names for turn in session.turns)


@given(
    attributes=st.dictionaries(
        st.sampled_from(
            [
                "gen_ai.input.messages",
                "gen_ai.prompt",
                "gen_ai.prompt.0",
                "gen_ai.completion.0.content",
                "events",
                "",
                "gen_ai.usage.input_tokens",
                "llm.tools",
                "llm.invocation_parameters",
                "a.b.c.d",
                "gen_ai.prompt.0.content",
            ]
        ),
        JSON_VALUES,
        max_size=5,
    )
)
@settings(max_examples=60, deadline=None)
def test_any_attribute_values_are_survived(attributes: dict[str, object]) -> None:
    row = {"name": "c", "spanId": "c", "traceId": "t", "attributes": {"gen_ai.operation.name": "chat", **attributes}}
    survive(reader_named("otel"), json.dumps([row]).encode())
