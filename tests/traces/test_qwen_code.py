from __future__ import annotations

from tests.traces.agent_files import lines, one, outputs, prompt_texts
from traces.model import ReasoningBlock, TextBlock, ToolCallBlock, Usage
from traces.readers.qwen_code import READER


def _row(uuid: str, parent: str | None, kind: str, *parts: object, **more: object) -> dict[str, object]:
    return {
        "uuid": uuid,
        "parentUuid": parent,
        "sessionId": "q1",
        "type": kind,
        "timestamp": "2026-03-01T00:00:00Z",
        "message": {"role": "model" if kind == "assistant" else "user", "parts": list(parts)},
        **more,
    }


def test_a_rewound_branch_is_generated_but_not_in_later_prompts() -> None:
    rows = (
        _row("a", None, "user", {"text": "start"}),
        _row("b", "a", "assistant", {"text": "dead end"}),
        _row("c", "a", "user", {"text": "another way"}),
        _row("d", "c", "assistant", {"text": "good"}),
    )
    session, _ = one(READER, lines(*rows))
    assert [outputs(turn) for turn in session.turns] == [(TextBlock(text="dead end"),), (TextBlock(text="good"),)]
    assert prompt_texts(session, session.turns[1]) == [("user", "start"), ("user", "another way")]
    assert session.turns[1].parent == "b"


def test_rows_of_one_id_are_one_reply_with_its_last_usage() -> None:
    rows = (
        _row("a", None, "user", {"text": "start"}),
        _row("b", "a", "assistant", {"text": "mull", "thought": True}),
        _row(
            "b",
            "a",
            "assistant",
            {"functionCall": {"id": "f", "name": "read", "args": {"p": "x"}}},
            usageMetadata={
                "promptTokenCount": 12,
                "candidatesTokenCount": 9,
                "thoughtsTokenCount": 4,
                "totalTokenCount": 21,
            },
        ),
        _row(
            "r", "b", "tool_result", {"functionResponse": {"id": "f", "name": "read", "response": {"output": "body"}}}
        ),
        _row("e", "r", "assistant", {"text": "end"}),
    )
    session, _ = one(READER, lines(*rows))
    first, last = session.turns
    assert outputs(first) == (ReasoningBlock(tokens=4), ToolCallBlock(name="read", arguments='{"p": "x"}', call_id="f"))
    assert first.final.usage == Usage(input_tokens=12, output_tokens=9, reasoning_tokens=4)
    assert prompt_texts(session, last) == [("user", "start"), ("assistant", "read"), ("tool", "body")]
    assert first.tool_waits[0].duration_s == 0.0


def test_a_missing_parent_and_a_circle_end_the_walk() -> None:
    rows = (
        _row("a", "never-written", "user", {"text": "late start"}),
        _row("b", "a", "assistant", {"text": "one"}),
        _row("x", "y", "user", {"text": "x"}),
        _row("y", "x", "user", {"text": "y"}),
        _row("z", "y", "assistant", {"text": "two"}),
    )
    session, log = one(READER, lines(*rows))
    assert prompt_texts(session, session.turns[0]) == [("user", "late start")]
    assert prompt_texts(session, session.turns[1]) == [("user", "x"), ("user", "y")]
    assert log.assumptions
