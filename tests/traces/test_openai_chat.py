from __future__ import annotations

import json

import pytest

from tests.traces.reading import read, read_only
from traces.checks import problems
from traces.errors import TraceError
from traces.model import (
    Attempt,
    LengthPrompt,
    RawBlock,
    ReasoningBlock,
    Session,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    Usage,
    Verdict,
    prompt_messages,
)
from traces.readers.openai_messages import assistant_blocks, chat_usage
from traces.readlog import ReadLog
from traces.registry import reader_named
from traces.source import SourceFile

_SYSTEM = {"role": "system", "content": "Be brief."}
_ASK = {"role": "user", "content": "Weather?"}
_CALL = {"id": "c1", "type": "function", "function": {"name": "get", "arguments": '{"city": "Köln"}'}}
_CALLING = {"role": "assistant", "content": None, "tool_calls": [_CALL]}
_RESULT = {"role": "tool", "tool_call_id": "c1", "content": "rain"}
_TOOL = {"type": "function", "function": {"name": "get", "description": "d", "parameters": {"type": "object"}}}
_USAGE = {
    "prompt_tokens": 50,
    "completion_tokens": 30,
    "total_tokens": 80,
    "prompt_tokens_details": {"cached_tokens": 32},
    "completion_tokens_details": {"reasoning_tokens": 12},
}


def _completion(message: dict[str, object], **more: object) -> dict[str, object]:
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"id": "r", "object": "chat.completion", "model": "m-1", "choices": [choice], "usage": _USAGE, **more}


def _rows() -> list[dict[str, object]]:
    said = {"role": "assistant", "content": "It rains.", "reasoning_content": "so wet"}
    return [
        {"request": {"model": "m", "messages": [_SYSTEM, _ASK], "tools": [_TOOL]}, "response": _completion(_CALLING)},
        {
            "request": {"model": "m", "messages": [_SYSTEM, _ASK, _CALLING, _RESULT], "tools": [_TOOL]},
            "response": _completion(said),
        },
    ]


def _lines(*rows: object) -> bytes:
    return b"\n".join(json.dumps(row).encode() for row in rows)


def _one(*rows: object, log: ReadLog | None = None) -> Session:
    (session,) = read("openai-chat", _lines(*rows), log)
    assert list(problems(session)) == []
    return session


def test_prompts_that_grow_are_one_session_with_real_messages() -> None:
    session = _one(*_rows())
    first, second = session.turns
    assert first.final.output == (
        ReasoningBlock(tokens=12),
        ToolCallBlock(name="get", arguments='{"city": "Köln"}', call_id="c1"),
    )
    assert first.final.usage == Usage(input_tokens=50, cached_tokens=32, output_tokens=30, reasoning_tokens=12)
    assert second.final.output == (ReasoningBlock(text="so wet"), TextBlock(text="It rains."))
    roles = [message.role for message in prompt_messages(session, second)]
    assert roles == ["system", "user", "assistant", "tool"]
    assert list(prompt_messages(session, second))[3].blocks == (ToolResultBlock(text="rain", call_id="c1"),)
    assert second.parent == first.id
    assert [tool.name for tool in session.tools] == ["get"]
    assert [wait.name for wait in first.tool_waits] == ["get"]


def test_unrelated_prompts_are_sessions_of_their_own() -> None:
    asked = [{"messages": [{"role": "user", "content": f"{n}"}]} for n in range(3)]
    rows = [{"request": request, "response": _completion(_CALLING)} for request in asked]
    assert len(read("openai-chat", _lines(*rows))) == 3


def test_calls_of_two_sessions_side_by_side_are_told_apart_by_their_prompts() -> None:
    first, second = _rows()
    other = json.loads(json.dumps([first, second]).replace("Weather?", "News?"))
    sessions = read("openai-chat", _lines(first, other[0], second, other[1]))
    assert [len(session.turns) for session in sessions] == [2, 2]


def test_a_logged_session_keeps_calls_with_rewritten_prompts_together() -> None:
    first, second = _rows()
    second["request"] = {"messages": [{"role": "user", "content": "summary"}]}
    session = _one({"session_id": "x", **first}, {"session_id": "x", **second})
    assert session.id == "x"
    assert len(session.turns) == 2


def _spelled(spelling: str) -> list[dict[str, object]]:
    rows = _rows()
    forms = {
        "body": [{"body": row["request"], "response": row["response"]} for row in rows],
        "input/output": [{"input": row["request"], "output": row["response"]} for row in rows],
        "http": [
            {"request": {"method": "POST", "url": "/v1", "body": row["request"]}, "response": {"body": row["response"]}}
            for row in rows
        ],
        "json text": [{"request": json.dumps(r["request"]), "response": json.dumps(r["response"])} for r in rows],
        "flat": [{**row["request"], "response": row["response"]} for row in rows],  # type: ignore[dict-item]
        "choices beside": [{"request": row["request"], **row["response"]} for row in rows],  # type: ignore[dict-item]
    }
    return forms[spelling]


@pytest.mark.parametrize("spelling", ["body", "input/output", "http", "json text", "flat", "choices beside"])
def test_usual_spellings_of_request_and_response_read_alike(spelling: str) -> None:
    session, plain = _one(*_spelled(spelling)), _one(*_rows())
    assert [turn.final.output for turn in session.turns] == [turn.final.output for turn in plain.turns]
    assert session.messages == plain.messages
    assert session.turns[0].final.usage == plain.turns[0].final.usage


def test_an_array_in_one_file_reads_like_lines() -> None:
    (session,) = read("openai-chat", json.dumps(_rows(), indent=1).encode(), name="log.json")
    assert [turn.final.output for turn in session.turns] == [turn.final.output for turn in _one(*_rows()).turns]


@pytest.mark.parametrize("order", [("in", "out"), ("out", "in")])
def test_batch_input_and_output_files_find_each_other(order: tuple[str, str]) -> None:
    asked = [{"custom_id": f"i{n}", "url": "/v1", "body": row["request"]} for n, row in enumerate(_rows())]
    answered = [
        {"id": "b", "custom_id": f"i{n}", "response": {"status_code": 200, "body": row["response"]}, "error": None}
        for n, row in enumerate(_rows())
    ]
    failed = {"id": "b", "custom_id": "i9", "response": {"status_code": 500, "body": {}}, "error": None}
    data = {"in": _lines(*asked, {"custom_id": "lost", "body": {"messages": [_ASK]}}), "out": _lines(*answered, failed)}
    log = ReadLog()
    files = [SourceFile(None, f"{name}.jsonl", data[name]) for name in order]
    sessions = list(reader_named("openai-chat").read(files, log))
    assert sum(len(session.turns) for session in sessions) == 2
    assert {m.role for s in sessions for m in s.messages} >= {"system", "user"}
    assert log.omitted == {"call that failed": 1, "request without a response": 1}


def test_a_list_of_messages_has_a_call_an_assistant_message() -> None:
    said = {"role": "assistant", "content": "It rains."}
    session = _one({"messages": [_SYSTEM, _ASK, _CALLING, _RESULT, said], "tools": [_TOOL]})
    assert [len(list(prompt_messages(session, turn))) for turn in session.turns] == [2, 4]
    assert session.tools[0].description == "d"
    assert session.turns[0].final.usage is None


def test_times_give_waits_of_tools_and_callers() -> None:
    first, second = _rows()
    timed = [
        {**first, "timestamp": "2026-01-01T00:00:00Z", "latency_ms": 1500, "ttft_ms": 200},
        {**second, "timestamp": "2026-01-01T00:00:04Z", "latency_ms": 500},
    ]
    session = _one(*timed)
    times = session.turns[0].final.times
    assert times is not None
    assert session.start_s == times.sent_s == 1767225600.0
    assert times.first_token_s == pytest.approx(1767225600.2)
    assert session.turns[0].tool_waits[0].duration_s == pytest.approx(2.5)


def test_rejected_draws_are_attempts_of_one_turn() -> None:
    first, second = _rows()
    session = _one({**first, "verdict": "rejected"}, first, second)
    attempts: tuple[Attempt, ...] = session.turns[0].attempts
    assert [attempt.verdict for attempt in attempts] == [Verdict.REJECTED, Verdict.ACCEPTED]
    assert len(session.turns) == 2


@pytest.mark.parametrize(
    ("content", "blocks"),
    [
        (None, ()),
        ("", ()),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], (TextBlock(text="a"), TextBlock(text="b"))),
        (
            [{"type": "thinking", "thinking": [{"type": "text", "text": "t"}]}, {"type": "text", "text": "a"}],
            (ReasoningBlock(text="t"), TextBlock(text="a")),
        ),
        ("<think>\nt\n</think>\na", (RawBlock(text="<think>\nt\n</think>\na"),)),
        ("t\n</think>\na", (RawBlock(text="t\n</think>\na"),)),
    ],
)
def test_content_in_all_its_forms(content: object, blocks: tuple[object, ...]) -> None:
    assert assistant_blocks({"role": "assistant", "content": content}, ReadLog()) == blocks


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning", "thinking"])
def test_reasoning_under_each_of_its_names(key: str) -> None:
    session = _one({"messages": [_ASK, {"role": "assistant", "content": "a", key: "why"}]})
    assert session.turns[0].final.output == (ReasoningBlock(text="why"), TextBlock(text="a"))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"a": "ü"}, '{"a": "ü"}'),
        (None, ""),
        ("", ""),
        ('{"cut": "o', '{"cut": "o'),
        ('"{\\"a\\": 1}"', '"{\\"a\\": 1}"'),
    ],
)
def test_arguments_stay_what_was_recorded(arguments: object, text: str) -> None:
    call = {"id": "c", "function": {"name": "f", "arguments": arguments}}
    session = _one({"messages": [_ASK, {"role": "assistant", "content": None, "tool_calls": [call]}]})
    assert session.turns[0].final.output == (ToolCallBlock(name="f", arguments=text, call_id="c"),)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({}, None),
        ({"prompt_tokens": 9, "completion_tokens": None}, Usage(input_tokens=9)),
        # Reasoning beside the completion tokens: the total tells.
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 5,
                "total_tokens": 34,
                "completion_tokens_details": {"reasoning_tokens": 20},
            },
            Usage(input_tokens=9, output_tokens=25, reasoning_tokens=20),
        ),
        # A cache read beside the input.
        (
            {"prompt_tokens": 9, "completion_tokens": 5, "cache_read_input_tokens": 100},
            Usage(input_tokens=109, cached_tokens=100, output_tokens=5),
        ),
        (
            {"prompt_tokens": 9, "completion_tokens": 5, "prompt_cache_hit_tokens": 8},
            Usage(input_tokens=9, cached_tokens=8, output_tokens=5),
        ),
        ({"prompt_tokens": -1, "completion_tokens": "5"}, None),
    ],
)
def test_usage_is_reconciled_to_one_meaning(counts: object, expected: Usage | None) -> None:
    assert chat_usage(counts) == expected


def test_a_bare_completion_has_a_prompt_of_known_length() -> None:
    (session,) = read_only("openai-chat", _lines(_completion({"role": "assistant", "content": "a"})))
    assert session.turns[0].prompt == LengthPrompt(tokens=50)


def test_further_choices_are_counted_and_failures_left_out() -> None:
    row = {"request": {"messages": [_ASK]}, "response": _completion({"role": "assistant", "content": "a"})}
    twice = json.loads(json.dumps(row))
    twice["response"]["choices"].append({"index": 1, "message": {"role": "assistant", "content": "b"}})
    failed = {"request": {"messages": [_ASK]}, "response": {"error": {"message": "overloaded"}}}
    log = ReadLog()
    assert len(read("openai-chat", _lines(twice, failed), log)) == 1
    assert log.omitted == {"further choice of one call (n > 1)": 1, "call that failed": 1}


def test_lines_that_log_no_call_are_named() -> None:
    with pytest.raises(TraceError, match=r"trace\.jsonl:3: no request with messages and no response"):
        read("openai-chat", _lines(*_rows(), {"level": "info"}))
    with pytest.raises(TraceError, match=r"trace\.jsonl:3: not valid JSON"):
        read("openai-chat", _lines(*_rows()) + b'\n{"request": {"mess')
