from __future__ import annotations

import pytest

from tests.traces.agent_files import call_names, lines, one, outputs, prompt_texts, read
from traces.model import RawBlock, ReasoningBlock, ToolCallBlock, Usage
from traces.readers.bfcl import READER, json_schema

_QUESTION = {
    "id": "q1",
    "question": [[{"role": "user", "content": "area?"}]],
    "function": [{"name": "area", "parameters": {"type": "dict", "properties": {"w": {"type": "float"}}}}],
}


def _result(**more: object) -> dict[str, object]:
    return {"id": "q1", "input_token_count": 30, "output_token_count": 8, "latency": 0.5, **more}


def test_calls_with_arguments_as_text_or_object() -> None:
    result = _result(result=[{"area": '{"w": 2}'}, {"area": {"w": 3}}])
    session, _ = one(READER, lines(_QUESTION, _QUESTION), lines(result))
    (turn,) = session.turns
    assert outputs(turn) == (
        ToolCallBlock(name="area", arguments='{"w": 2}'),
        ToolCallBlock(name="area", arguments='{"w": 3}'),
    )
    assert prompt_texts(session, turn) == [("user", "area?")]
    assert turn.final.usage == Usage(input_tokens=30, output_tokens=8)
    assert session.tools[0].parameters["type"] == "object"
    assert session.head is None


def test_raw_text_with_reasoning() -> None:
    result = _result(result="<tool_call>{}</tool_call>", reasoning_content="mm")
    session, log = one(READER, result)
    assert outputs(session.turns[0]) == (ReasoningBlock(text="mm"), RawBlock(text="<tool_call>{}</tool_call>"))
    assert any("without its question" in text for text in log.assumptions)


def test_turns_and_steps_share_their_nesting_with_the_counts() -> None:
    question = {**_QUESTION, "question": [[{"role": "user", "content": "one"}], [{"role": "user", "content": "two"}]]}
    result = _result(
        result=[[[{"area": "{}"}], "done"], ["really"]],
        input_token_count=[[10, 14], [20]],
        output_token_count=[[3, 2], [5]],
        latency=[[0.1, 0.2], [0.3]],
        reasoning_content=[["r1", ""], [None]],
    )
    session, _ = one(READER, lines(question, question), result)
    assert [turn.final.usage and turn.final.usage.output_tokens for turn in session.turns] == [3, 2, 5]
    assert outputs(session.turns[0])[0] == ReasoningBlock(text="r1")
    assert [text for role, text in prompt_texts(session, session.turns[2]) if role == "user"] == ["one", "two"]
    assert call_names(session) == ["area"]


def test_questions_answers_and_schemas_alone_are_no_sessions() -> None:
    answer = {"id": "q1", "ground_truth": [{"area": {"w": [2, ""]}}]}
    schema = {"name": "area", "parameters": {"type": "dict"}, "response": {}}
    sessions, log = read(READER, _QUESTION, answer, schema)
    assert sessions == []
    assert sorted(log.omitted.values()) == [1, 1, 1]


@pytest.mark.parametrize(
    ("given", "mapped"),
    [
        ({"type": "tuple", "items": {"type": "float"}}, {"type": "array", "items": {"type": "number"}}),
        ({"type": "any", "description": "d"}, {"description": "d"}),
        ({"type": "Boolean"}, {"type": "boolean"}),
        ({"type": "dict", "properties": {"type": {"type": "string"}}}, None),
    ],
)
def test_schema_types_become_those_of_json_schema(given: dict[str, object], mapped: object) -> None:
    if mapped is None:
        mapped = {"type": "object", "properties": {"type": {"type": "string"}}}
    assert json_schema(given) == mapped
