"""Gemini API exchanges: whole, as an array of chunks, as lines of chunks."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.traces.fuzz import broken, survive
from tests.traces.reading import read
from traces.model import LengthPrompt, ReasoningBlock, TextBlock, ToolCallBlock, prompt_messages
from traces.registry import reader_named

CALL = {"functionCall": {"name": "look", "args": {"x": "\u00fc"}}}
REQUEST = {
    "systemInstruction": {"parts": [{"text": "brief"}]},
    "contents": [
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": [CALL]},
        {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"output": "seen"}}}]},
    ],
    "tools": [{"functionDeclarations": [{"name": "look", "parameters": {"type": "object"}}]}],
}
CHUNKS: list[object] = [
    {"candidates": [{"content": {"parts": [{"text": "plan", "thought": True}]}}], "responseId": "a"},
    {"candidates": [{"content": {"parts": [{"text": "he"}]}}], "responseId": "a"},
    {
        "candidates": [{"content": {"parts": [{"text": "re"}, CALL]}, "finishReason": "STOP"}],
        "usageMetadata": {
            "promptTokenCount": 9,
            "candidatesTokenCount": 5,
            "thoughtsTokenCount": 3,
            "totalTokenCount": 17,
        },
        "responseId": "a",
    },
]
EXPECTED = (
    ReasoningBlock(tokens=3),
    TextBlock(text="here"),
    ToolCallBlock(name="look", arguments='{"x": "\u00fc"}'),
)


def lines(*values: object) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


def test_request_with_a_stream_as_its_response() -> None:
    (session,) = read("gemini", json.dumps({"request": REQUEST, "response": CHUNKS}))
    turn = session.turns[0]
    assert turn.final.output == EXPECTED
    assert [message.role for message in prompt_messages(session, turn)] == ["system", "user", "assistant", "tool"]
    assert [tool.name for tool in session.tools] == ["look"]
    assert turn.final.usage is not None
    assert (turn.final.usage.input_tokens, turn.final.usage.output_tokens) == (9, 8)


def test_chunks_alone_by_line_and_as_an_array() -> None:
    for text in (lines(*CHUNKS), json.dumps(CHUNKS)):
        (session,) = read("gemini", text)
        assert session.turns[0].final.output == EXPECTED
        assert session.turns[0].prompt == LengthPrompt(tokens=9)


def test_two_replies_in_one_file_are_told_apart() -> None:
    other = {**CHUNKS[2], "responseId": "b"}  # type: ignore[dict-item]
    assert len(read("gemini", lines(*CHUNKS, other))) == 2


@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_broken_recordings_give_sessions_or_an_error_of_our_own(data: st.DataObject) -> None:
    rows = [{"request": REQUEST, "response": CHUNKS}, *CHUNKS]
    survive(reader_named("gemini"), data.draw(broken(list(rows), lines=True)))
