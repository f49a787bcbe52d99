from __future__ import annotations

import pytest

from tests.traces.agent_files import call_names, lines, one, outputs, prompt_texts, read
from traces.model import TextBlock, Usage
from traces.readers.openhands import READER


def _response(key: str, *calls: str, text: str | None = "I act.") -> dict[str, object]:
    made = [{"id": f"{key}-{name}", "function": {"name": name, "arguments": "{}"}} for name in calls]
    message = {"role": "assistant", "content": text, "tool_calls": made or None}
    usage = {"prompt_tokens": 40, "completion_tokens": 6, "prompt_tokens_details": {"cached_tokens": 10}}
    return {"id": key, "model": "m", "choices": [{"finish_reason": "tool_calls", "message": message}], "usage": usage}


def _acts(second: int, number: int, response: dict[str, object], name: str, **more: object) -> dict[str, object]:
    meta = {"function_name": name, "tool_call_id": f"{response['id']}-{name}", "model_response": response}
    stamp = f"2026-05-01T12:00:{second:02d}.500000"
    return {"id": number, "timestamp": stamp, "source": "agent", "tool_call_metadata": meta, "args": {}, **more}


_ASK = {
    "id": 0,
    "timestamp": "2026-05-01T12:00:00",
    "source": "user",
    "action": "message",
    "args": {"content": "do it"},
}


def test_one_reply_with_two_actions_is_read_once() -> None:
    both = _response("r1", "run", "read")
    events = [
        _ASK,
        _acts(5, 1, both, "run", action="run"),
        _acts(6, 2, both, "run", observation="run", content="out", cause=1),
        _acts(6, 3, both, "read", action="read"),
        _acts(9, 4, both, "read", observation="read", content="body", cause=3),
    ]
    session, log = one(READER, events)
    (turn,) = session.turns
    assert call_names(session) == ["run", "read"]
    assert turn.final.usage == Usage(input_tokens=40, cached_tokens=10, output_tokens=6)
    assert [wait.duration_s for wait in turn.tool_waits] == [1.0, 4.0]
    assert log.duplicates["OpenHands reply repeated on another event"] == 3


def test_evaluation_rows_give_latency_and_replies_that_no_event_carries() -> None:
    response = _response("r1", "run")
    system = {
        "source": "agent",
        "action": "system",
        "args": {"content": "sys", "tools": [{"function": {"name": "run"}}]},
    }
    latencies = [{"response_id": "r1", "latency": 2.0}, {"response_id": "r2", "latency": 1.0}]
    row = {
        "instance_id": "case-1",
        "history": [system, _ASK, _acts(5, 1, response, "run", action="run")],
        "metrics": {"response_latencies": latencies},
    }
    sessions, log = read(READER, lines(row, {**row, "instance_id": "case-2"}))
    assert [session.id for session in sessions] == ["case-1", "case-2"]
    times = sessions[0].turns[0].final.times
    assert times is not None
    assert times.end_s is not None
    assert times.sent_s == pytest.approx(times.end_s - 2.0)
    assert prompt_texts(sessions[0], sessions[0].turns[0]) == [("system", "sys"), ("user", "do it")]
    assert [tool.name for tool in sessions[0].tools] == ["run"]
    assert log.omitted["OpenHands reply that no event carries"] == 2


def test_the_oldest_lists_have_text_actions() -> None:
    history = [
        {"action": "message", "content": "do it", "images_urls": None, "action_risk": None},
        {"action": "run", "thought": "First.", "command": "ls", "action_risk": None},
        {"observation": "run", "content": "a", "command": "ls", "exit_code": 0},
        {"action": "finish", "thought": "Done.", "outputs": {}},
    ]
    row = {"issue": {"number": 7}, "history": history, "metrics": {"costs": [0.1, 0.2]}}
    session, log = one(READER, lines(row, {**row, "history": history[:1]}))
    first, last = session.turns
    assert outputs(first) == (TextBlock(text="First.\nls"),)
    assert [wait.name for wait in first.tool_waits] == ["run"]
    assert prompt_texts(session, last)[-1] == ("user", "a")
    assert session.id == "run0/7"
    assert log.assumptions


def test_state_changes_are_no_turns() -> None:
    state = {"source": "environment", "observation": "agent_state_changed", "content": "", "extras": {}}
    answer = {"source": "agent", "action": "message", "args": {"content": "hello"}}
    session, log = one(READER, [state, _ASK, answer])
    assert outputs(session.turns[0]) == (TextBlock(text="hello"),)
    assert sum(log.omitted.values()) == 1
