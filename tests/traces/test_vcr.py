"""VCR cassettes: bodies in all their forms, the APIs told by content, and YAML that means harm."""

from __future__ import annotations

import base64
import gzip
import json
import struct
import zlib

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.traces.fuzz import JSON_VALUES, broken, survive
from tests.traces.reading import read, read_only
from traces.errors import TraceError
from traces.model import (
    MessagePrompt,
    RawBlock,
    ReasoningBlock,
    Session,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    Usage,
    prompt_messages,
)
from traces.readlog import ReadLog
from traces.registry import reader_named

CHAT_URL = "https://models.example/v1/chat/completions"
ASK = {"model": "m", "max_tokens": 99, "messages": [{"role": "user", "content": "two plus two?"}]}
CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":2,"b":2}'}}
ANSWER = {
    "id": "r1",
    "object": "chat.completion",
    "created": 1_700_000_000,
    "model": "m-1",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": None, "tool_calls": [CALL]},
            "finish_reason": "tool_calls",
        }
    ],
    "usage": {"prompt_tokens": 12, "completion_tokens": 7, "total_tokens": 19},
}
SECOND_ASK = {
    **ASK,
    "messages": [
        *ASK["messages"],
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "4"},
    ],  # type: ignore[misc]
}
STREAM = (
    "".join(
        f"data: {json.dumps(chunk)}\n\n"
        for chunk in (
            {
                "id": "r2",
                "object": "chat.completion.chunk",
                "model": "m-1",
                "choices": [{"index": 0, "delta": {"reasoning_content": "It is "}}],
            },
            {"id": "r2", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "Four"}}]},
            {
                "id": "r2",
                "object": "chat.completion.chunk",
                "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
            },
            {
                "id": "r2",
                "object": "chat.completion.chunk",
                "choices": [],
                "usage": {"prompt_tokens": 30, "completion_tokens": 5},
            },
        )
    )
    + "data: [DONE]\n\n"
)


def interaction(
    request: object, reply: object, url: str = CHAT_URL, *, code: int = 200, **headers: list[str]
) -> dict[str, object]:
    """A recorded exchange in the stock form; values of *reply* other than text and bytes become JSON."""
    body = reply if isinstance(reply, (str, bytes)) else json.dumps(reply)
    return {
        "request": {"method": "POST", "uri": url, "body": json.dumps(request), "headers": {}},
        "response": {"status": {"code": code}, "headers": headers, "body": {"string": body}},
    }


def cassette(*interactions: dict[str, object]) -> bytes:
    return yaml.safe_dump({"interactions": list(interactions), "version": 1}).encode()


def outputs(sessions: list[Session]) -> list[tuple[object, ...]]:
    return [turn.final.output for session in sessions for turn in session.turns]


def test_json_gzip_and_stream_bodies_of_one_conversation() -> None:
    packed = gzip.compress(json.dumps(ANSWER).encode())
    (session,) = read("vcr", cassette(interaction(ASK, packed), interaction(SECOND_ASK, STREAM)), name="talk.yaml")
    first, second = session.turns
    assert session.id == "talk"
    assert first.final.output == (ToolCallBlock(name="add", arguments='{"a":2,"b":2}', call_id="c1"),)
    assert second.final.output == (ReasoningBlock(text="It is "), TextBlock(text="Four"))
    assert (first.parent, second.parent) == (None, first.id)
    assert (first.model, first.max_tokens) == ("m-1", 99)
    assert first.final.usage == Usage(input_tokens=12, output_tokens=7)
    assert [message.role for message in prompt_messages(session, second)] == ["user", "assistant", "tool"]
    assert session.start_s == 1_700_000_000.0


def test_parsed_bodies() -> None:
    exchange = {
        "request": {"uri": CHAT_URL, "method": "POST", "headers": {}, "parsed_body": ASK},
        "response": {"status": {"code": 200}, "headers": {}, "parsed_body": ANSWER},
    }
    (session,) = read("vcr", cassette(exchange))
    assert session.turns[0].id == "r1"


def test_telemetry_embeddings_and_failures_are_counted_apart() -> None:
    log = ReadLog()
    sessions = read(
        "vcr",
        cassette(
            interaction({"runs": []}, {"ok": True}, "https://telemetry.example/runs/batch"),
            interaction({"model": "e", "input": "x"}, {"object": "list", "data": [{"embedding": [0.1]}]}),
            interaction(ASK, {"error": {"message": "slow down"}}, code=429),
            interaction(ASK, ANSWER),
        ),
        log,
    )
    assert len(sessions) == 1
    assert log.omitted == {"request that is no model call": 1, "embedding request": 1, "API call that failed": 1}


def test_calls_that_begin_alike_are_conversations_of_their_own() -> None:
    other = {**ASK, "messages": [{"role": "user", "content": "three?"}]}
    sessions = read("vcr", cassette(interaction(ASK, ANSWER), interaction(other, {**ANSWER, "id": "r9"})))
    assert [session.id for session in sessions] == ["trace", "trace#2"]


def test_call_refused_after_its_generation_is_output() -> None:
    error = {"error": {"code": "tool_use_failed", "failed_generation": '{"name": "add", "arguments": {"x": 1}}'}}
    (session,) = read("vcr", cassette(interaction(ASK, STREAM + f"event: error\ndata: {json.dumps(error)}\n\n")))
    assert session.turns[0].final.output[-1] == ToolCallBlock(name="add", arguments='{"x": 1}')
    assert session.turns[0].final.finish_reason == "tool_use_failed"


def test_responses_that_go_on_from_a_kept_one() -> None:
    def response(name: str, *items: object) -> dict[str, object]:
        return {
            "id": name,
            "object": "response",
            "model": "m",
            "output": list(items),
            "usage": {"input_tokens": 5, "output_tokens": 2},
        }

    call = {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "k"}
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]}
    result = {"type": "function_call_output", "call_id": "k", "output": "ok"}
    (session,) = read(
        "vcr",
        cassette(
            interaction({"model": "m", "input": "go"}, response("a", call)),
            interaction({"model": "m", "previous_response_id": "a", "input": [result]}, response("b", said)),
        ),
    )
    roles = [message.role for message in prompt_messages(session, session.turns[1])]
    assert roles == ["user", "assistant", "tool"]


def test_bedrock_converse_and_its_model_from_the_address() -> None:
    request = {
        "system": [{"text": "be brief"}],
        "messages": [
            {"role": "user", "content": [{"text": "hot?"}]},
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": "u", "name": "temp", "input": {}}}]},
            {
                "role": "user",
                "content": [{"toolResult": {"toolUseId": "u", "content": [{"json": {"c": 30}}], "status": "error"}}],
            },
        ],
        "inferenceConfig": {"maxTokens": 64},
    }
    reply = {
        "output": {
            "message": {
                "role": "assistant",
                "content": [{"reasoningContent": {"reasoningText": {"text": "hm"}}}, {"text": "yes"}],
            }
        },
        "stopReason": "end_turn",
        "usage": {"inputTokens": 10, "outputTokens": 3, "cacheReadInputTokens": 4},
    }
    (session,) = read("vcr", cassette(interaction(request, reply, "https://bedrock.example/model/kimi%3A0/converse")))
    turn = session.turns[0]
    assert turn.final.output == (ReasoningBlock(text="hm"), TextBlock(text="yes"))
    assert (turn.model, turn.max_tokens) == ("kimi:0", 64)
    assert turn.final.usage == Usage(input_tokens=14, cached_tokens=4, output_tokens=3)
    messages = list(prompt_messages(session, turn))
    assert [message.role for message in messages] == ["system", "user", "assistant", "tool"]
    assert messages[-1].blocks == (ToolResultBlock(text='{"c": 30}', call_id="u", is_error=True),)


def frame(kind: str, payload: object) -> bytes:
    """A frame of the AWS binary event stream."""
    name = b":event-type"
    header = bytes([len(name)]) + name + b"\x07" + struct.pack(">H", len(kind)) + kind.encode()
    body = json.dumps(payload).encode()
    prelude = struct.pack(">II", 16 + len(header) + len(body), len(header))
    prelude += struct.pack(">I", zlib.crc32(prelude))
    message = prelude + header + body
    return message + struct.pack(">I", zlib.crc32(message))


def test_bedrock_binary_streams() -> None:
    stream = b"".join(
        [
            frame("messageStart", {"role": "assistant"}),
            frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "let "}}),
            frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "me"}}),
            frame(
                "contentBlockStart", {"contentBlockIndex": 1, "start": {"toolUse": {"toolUseId": "u", "name": "temp"}}}
            ),
            frame("contentBlockDelta", {"contentBlockIndex": 1, "delta": {"toolUse": {"input": '{"x":'}}}),
            frame("contentBlockDelta", {"contentBlockIndex": 1, "delta": {"toolUse": {"input": "1}"}}}),
            frame("messageStop", {"stopReason": "tool_use"}),
            frame("metadata", {"usage": {"inputTokens": 8, "outputTokens": 9}}),
        ]
    )
    asked = {"messages": [{"role": "user", "content": [{"text": "hi"}]}]}
    (session,) = read("vcr", cassette(interaction(asked, stream)))
    expected = (TextBlock(text="let me"), ToolCallBlock(name="temp", arguments='{"x":1}', call_id="u"))
    assert session.turns[0].final.output == expected
    assert session.turns[0].final.usage == Usage(input_tokens=8, output_tokens=9)
    chunks = [
        {"type": "message_start", "message": {"id": "x", "usage": {"input_tokens": 3}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hey"}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
    ]
    packed = b"".join(frame("chunk", {"bytes": base64.b64encode(json.dumps(c).encode()).decode()}) for c in chunks)
    (session,) = read("vcr", cassette(interaction({"messages": [{"role": "user", "content": "hi"}]}, packed)))
    assert session.turns[0].final.output == (TextBlock(text="hey"),)


def test_cohere_whole_and_streamed() -> None:
    call = {"id": "k", "type": "function", "function": {"name": "find", "arguments": "{}"}}
    whole = {
        "id": "c",
        "message": {"role": "assistant", "tool_plan": "I will look.", "tool_calls": [call]},
        "finish_reason": "TOOL_CALL",
        "usage": {"tokens": {"input_tokens": 6, "output_tokens": 4}},
    }
    events = [
        {"type": "message-start", "id": "d", "delta": {"message": {"role": "assistant"}}},
        {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"thinking": "mm"}}}},
        {"type": "content-delta", "index": 1, "delta": {"message": {"content": {"text": "Hello"}}}},
        {
            "type": "message-end",
            "delta": {"finish_reason": "COMPLETE", "usage": {"tokens": {"input_tokens": 7, "output_tokens": 2}}},
        },
    ]
    stream = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    sessions = read(
        "vcr",
        cassette(interaction(ASK, whole), interaction({**ASK, "messages": [{"role": "user", "content": "?"}]}, stream)),
    )
    assert outputs(sessions) == [
        (TextBlock(text="I will look."), ToolCallBlock(name="find", arguments="{}", call_id="k")),
        (ReasoningBlock(text="mm"), TextBlock(text="Hello")),
    ]
    assert [t.final.usage.output_tokens for s in sessions for t in s.turns if t.final.usage] == [4, 2]


def test_gemini_and_text_generation() -> None:
    request = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}], "generationConfig": {"maxOutputTokens": 5}}
    reply = {
        "candidates": [{"content": {"parts": [{"text": "ho"}]}, "finishReason": "STOP"}],
        "usageMetadata": {
            "promptTokenCount": 2,
            "candidatesTokenCount": 1,
            "thoughtsTokenCount": 6,
            "totalTokenCount": 9,
        },
    }
    url = "https://g.example/v1beta/models/gem-1:generateContent"
    text = [{"generated_text": "<think>a</think>b", "details": {"generated_tokens": 4}}]
    one, two = read("vcr", cassette(interaction(request, reply, url), interaction({"inputs": "say"}, text)))
    assert one.turns[0].model == "gem-1"
    assert one.turns[0].final.output == (ReasoningBlock(tokens=6), TextBlock(text="ho"))
    assert one.turns[0].final.usage == Usage(input_tokens=2, output_tokens=7, reasoning_tokens=6)
    assert two.turns[0].final.output == (RawBlock(text="<think>a</think>b"),)
    assert isinstance(two.turns[0].prompt, MessagePrompt)


def test_json_cassette_and_base64_body() -> None:
    body = {"base64_string": base64.b64encode(json.dumps(ANSWER).encode()).decode(), "encoding": "utf-8"}
    exchange = {
        "request": {"uri": CHAT_URL, "method": "POST", "body": {"string": json.dumps(ASK)}, "headers": {}},
        "response": {"status": {"code": 200}, "headers": {}, "body": body},
    }
    (session,) = read("vcr", json.dumps({"http_interactions": [exchange], "recorded_with": "betamax"}))
    assert session.turns[0].id == "r1"


def test_bodies_that_cannot_be_decoded_are_counted() -> None:
    log = ReadLog()
    read_only("vcr", cassette(interaction(ASK, b"\x1f\x8bbroken"), interaction(ASK, b"\xff\xfe\x00")), log)
    assert log.omitted == {"body that cannot be decompressed": 1, "body that is no text": 1}


@pytest.mark.parametrize(
    "text",
    [
        "interactions: !!python/object/apply:os.system ['true']\n",
        "interactions: [\n",
        "a: &a [x]\n"
        + "".join(f"{c}: &{c} [{', '.join([f'*{p}'] * 9)}]\n" for p, c in zip("abcdefghi", "bcdefghij", strict=True)),
        "interactions: &x [*x]\n",
        "interactions: " + "[" * 5000 + "\n",
        "interactions:\n- {<<: {a: 1}}\n",
        "interactions: !!timestamp nonsense\n",
        "interactions: " + "9" * 5000 + "\n",
    ],
)
def test_yaml_that_means_harm_is_an_error_with_a_place(text: str) -> None:
    with pytest.raises(TraceError, match=r"trace.yaml"):
        read_only("vcr", text, name="trace.yaml")


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_broken_cassettes_give_sessions_or_an_error_of_our_own(data: st.DataObject) -> None:
    whole = {
        "interactions": [
            {
                "request": {"uri": CHAT_URL, "parsed_body": SECOND_ASK, "headers": {}},
                "response": {"parsed_body": ANSWER, "status": {"code": 200}},
            },
            interaction(ASK, STREAM, date=["Tue, 13 May 2025 14:54:09 GMT"]),
            interaction({"contents": []}, {"candidates": [{"content": {"parts": [{"text": "ho"}]}}]}),
        ]
    }
    survive(reader_named("vcr"), data.draw(broken([whole], lines=False)), "x.yaml")


@given(reply=JSON_VALUES, request=JSON_VALUES)
@settings(max_examples=40, deadline=None)
def test_any_body_is_survived(reply: object, request: object) -> None:
    exchange = {"request": {"parsed_body": request}, "response": {"parsed_body": reply}}
    survive(reader_named("vcr"), json.dumps({"interactions": [exchange]}).encode(), "x.yaml")
