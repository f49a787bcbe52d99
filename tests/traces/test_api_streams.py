from __future__ import annotations

import json

import pytest

from tests.traces.reading import read, read_only
from traces.model import (
    MessagePrompt,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    Usage,
    prompt_messages,
)
from traces.readers.anthropic_messages import anthropic_usage
from traces.readers.anthropic_stream import merged_events
from traces.readers.openai_stream import merged_chunks
from traces.readers.response_stream import merged_response
from traces.readers.sse import stream_events
from traces.readlog import ReadLog


def _chunk(delta: dict[str, object], **more: object) -> dict[str, object]:
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    return {"id": "x", "object": "chat.completion.chunk", "created": 1767225600, "choices": [choice], **more}


def _call(index: int | None, arguments: str, **more: object) -> dict[str, object]:
    place = {} if index is None else {"index": index}
    return _chunk({"tool_calls": [{**place, "function": {"arguments": arguments, **more}}]})


_CHUNKS = [
    _chunk({"role": "assistant", "content": ""}),
    _chunk({"reasoning_content": "th"}),
    _chunk({"reasoning_content": "ink"}),
    _chunk({"content": "Hi"}),
    _chunk({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": ""}}]}),
    _chunk({"tool_calls": [{"index": 1, "id": "b", "function": {"name": "g", "arguments": ""}}]}),
    _call(0, '{"x":'),
    _call(1, "{}"),
    _call(0, " 1}"),
]
_USAGE = {"prompt_tokens": 7, "completion_tokens": 9}
_OUTPUT = (
    ReasoningBlock(text="think"),
    TextBlock(text="Hi"),
    ToolCallBlock(name="f", arguments='{"x": 1}', call_id="a"),
    ToolCallBlock(name="g", arguments="{}", call_id="b"),
)


def _lines(*rows: object, prefix: str = "") -> bytes:
    return "\n".join(prefix + json.dumps(row) for row in rows).encode()


@pytest.mark.parametrize(
    "closing",
    [
        [{"id": "x", "object": "chat.completion.chunk", "choices": [], "usage": _USAGE}],
        [{**_chunk({}), "x_groq": {"usage": _USAGE}}],
        [{**_chunk({}), "usage": _USAGE}],
    ],
    ids=["extra chunk", "x_groq", "last chunk"],
)
def test_chunks_are_put_together_with_usage_wherever_it_is(closing: list[dict[str, object]]) -> None:
    (session,) = read_only("openai-chat", _lines(*_CHUNKS, *closing))
    assert session.turns[0].final.output == _OUTPUT
    assert session.turns[0].final.usage == Usage(input_tokens=7, output_tokens=9)


def test_chunks_without_usage_leave_it_unrecorded() -> None:
    (session,) = read_only("openai-chat", _lines(*_CHUNKS))
    assert session.turns[0].final.usage is None
    assert session.turns[0].prompt == MessagePrompt(ranges=())


def test_two_streams_in_a_file_are_two_calls() -> None:
    other = [{**chunk, "id": "y"} for chunk in _CHUNKS]
    assert len(read_only("openai-chat", _lines(*_CHUNKS, *other))) == 2


def test_a_streamed_response_in_a_row_as_event_text_or_as_an_array() -> None:
    request = {"messages": [{"role": "user", "content": "q"}]}
    text = _lines(*_CHUNKS, prefix="data: ").decode() + "\n\ndata: [DONE]\n"
    for response in (text, _CHUNKS):
        (session,) = read("openai-chat", _lines({"request": request, "response": response}))
        assert session.turns[0].final.output == _OUTPUT
        assert [message.role for message in prompt_messages(session, session.turns[0])] == ["user"]


def test_calls_without_an_index_follow_their_ids() -> None:
    chunks = [
        _chunk({"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{"}}]}),
        _call(None, "}"),
        _chunk({"tool_calls": [{"id": "b", "function": {"name": "g", "arguments": "{}"}}]}),
    ]
    message = merged_chunks(chunks)["choices"][0]["message"]  # type: ignore[index]
    assert [(c["id"], c["function"]["arguments"]) for c in message["tool_calls"]] == [("a", "{}"), ("b", "{}")]


def test_event_text_keeps_line_separators_inside_strings() -> None:
    event = {"choices": [{"delta": {"content": "a\u2028b"}}]}
    text = f": ping\nevent: x\ndata: {json.dumps(event, ensure_ascii=False)}\r\n\ndata: [DONE]"
    assert list(stream_events(text)) == [event]
    assert list(stream_events('data: {"a": 1}\ndata: {"b"')) == [{"a": 1}]


_ANTHROPIC = [
    {
        "type": "message_start",
        "message": {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "c",
            "content": [],
            "usage": {"input_tokens": 4, "cache_read_input_tokens": 90, "output_tokens": 1},
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
    {"type": "ping"},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "s"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Hi"}},
    {
        "type": "content_block_start",
        "index": 2,
        "content_block": {"type": "tool_use", "id": "t", "name": "f", "input": {}},
    },
    {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": '{"x":'}},
    {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": " 1}"}},
    {"type": "content_block_stop", "index": 2},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 44}},
    {"type": "message_stop"},
]
_TEXT = {"type": "text", "text": "r"}
_MADE = (
    ReasoningBlock(text="hm"),
    TextBlock(text="Hi"),
    ToolCallBlock(name="f", arguments='{"x": 1}', call_id="t"),
)


def test_an_anthropic_stream_has_the_last_usage_and_the_streamed_arguments() -> None:
    (session,) = read_only("anthropic-messages", _lines(*_ANTHROPIC))
    final = session.turns[0].final
    assert final.output == _MADE
    assert final.usage == Usage(input_tokens=94, cached_tokens=90, output_tokens=44)
    assert final.finish_reason == "tool_use"


def test_an_anthropic_stream_cut_short_keeps_what_came() -> None:
    message = merged_events(_ANTHROPIC[:10])  # type: ignore[arg-type]
    assert message["content"][2]["input"] == '{"x":'  # type: ignore[index]


def test_anthropic_rows_split_tool_results_from_what_the_user_says() -> None:
    asked = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t", "content": [_TEXT], "is_error": True},
                {"type": "text", "text": "and?"},
            ],
        },
    ]
    request = {"model": "c", "system": [{"type": "text", "text": "sys"}], "messages": asked, "max_tokens": 9}
    request["tools"] = [{"name": "f", "description": "d", "input_schema": {"type": "object"}}]
    response = {"id": "m", "type": "message", "role": "assistant", "content": [{"type": "text", "text": "ok"}]}
    (session,) = read("anthropic-messages", _lines({"request": request, "response": response}))
    found = list(prompt_messages(session, session.turns[0]))
    assert [message.role for message in found] == ["system", "user", "assistant", "tool", "user"]
    assert found[3].blocks == (ToolResultBlock(text="r", call_id="t", is_error=True),)
    assert session.tools[0].parameters == {"type": "object"}
    assert session.turns[0].max_tokens == 9


@pytest.mark.parametrize("value", [None, 3, {}, {"input_tokens": "x"}])
def test_anthropic_usage_without_counts_is_none(value: object) -> None:
    assert anthropic_usage(value) is None


_ITEMS = [
    {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "in short"}]},
    {"type": "message", "id": "ms", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]},
    {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": '{"x": 1}'},
]
_RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1767225600,
    "model": "g",
    "status": "completed",
    "output": _ITEMS,
    "usage": {
        "input_tokens": 20,
        "input_tokens_details": {"cached_tokens": 8},
        "output_tokens": 30,
        "output_tokens_details": {"reasoning_tokens": 16},
    },
}
_SUMMED = (
    ReasoningBlock(tokens=16),
    TextBlock(text="Hi"),
    ToolCallBlock(name="f", arguments='{"x": 1}', call_id="c"),
)


def test_a_response_hides_reasoning_that_it_only_sums_up() -> None:
    row = {"request": {"model": "g", "input": "hello", "instructions": "sys"}, "response": _RESPONSE}
    (session,) = read("openai-responses", _lines(row))
    final = session.turns[0].final
    assert final.output == _SUMMED
    assert final.usage == Usage(input_tokens=20, cached_tokens=8, output_tokens=30, reasoning_tokens=16)
    assert [m.role for m in prompt_messages(session, session.turns[0])] == ["system", "user"]


def test_a_request_goes_on_from_the_response_it_names() -> None:
    output = {"type": "function_call_output", "call_id": "c", "output": "done"}
    second = {"model": "g", "previous_response_id": "resp_1", "input": [output]}
    rows = [
        {"request": {"model": "g", "input": "hello"}, "response": _RESPONSE},
        {"request": second, "response": {**_RESPONSE, "id": "resp_2"}},
    ]
    (session,) = read("openai-responses", _lines(*rows))
    assert [m.role for m in prompt_messages(session, session.turns[1])] == ["user", "assistant", "tool"]


def test_items_sent_back_are_one_assistant_message() -> None:
    output = {"type": "function_call_output", "call_id": "c", "output": "done"}
    given = [{"role": "user", "content": "hello"}, *_ITEMS, output]
    (session,) = read("openai-responses", _lines({"request": {"input": given}, "response": _RESPONSE}))
    roles = [m.role for m in prompt_messages(session, session.turns[0])]
    assert roles == ["user", "assistant", "tool"]


def _event(kind: str, **more: object) -> dict[str, object]:
    return {"type": f"response.{kind}", **more}


_EVENTS = [
    _event("created", response={**_RESPONSE, "status": "in_progress", "output": [], "usage": None}),
    _event("output_item.added", output_index=0, item={"type": "reasoning", "id": "rs", "summary": []}),
    _event("output_item.done", output_index=0, item=_ITEMS[0]),
    _event("output_item.added", output_index=1, item={"type": "message", "role": "assistant", "content": []}),
    _event("output_text.delta", output_index=1, delta="H"),
    _event("output_text.delta", output_index=1, delta="i"),
    _event("output_item.done", output_index=1, item=_ITEMS[1]),
    _event("output_item.added", output_index=2, item={**_ITEMS[2], "arguments": ""}),
    _event("function_call_arguments.delta", output_index=2, delta='{"x":'),
    _event("function_call_arguments.delta", output_index=2, delta=" 1}"),
]


def test_a_response_stream_is_its_closing_event_or_what_came_before() -> None:
    (whole,) = read_only("openai-responses", _lines(*_EVENTS, _event("completed", response=_RESPONSE)))
    assert whole.turns[0].final.output == _SUMMED
    cut = merged_response(_EVENTS)
    assert [item["type"] for item in cut["output"]] == ["reasoning", "message", "function_call"]  # type: ignore[attr-defined]
    log = ReadLog()
    (session,) = read_only("openai-responses", _lines(*_EVENTS), log)
    assert session.turns[0].final.output == (ReasoningBlock(), *_SUMMED[1:])
    assert session.turns[0].final.usage is None
