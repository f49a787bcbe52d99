from __future__ import annotations

import json

import pytest

from tests.traces.reading import read
from traces.errors import TraceError
from traces.model import SpawnLink, TextBlock, ToolCallBlock, Usage, prompt_messages
from traces.readlog import ReadLog

_CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": "{}"}}


def _run(trial: int, **more: object) -> dict[str, object]:
    traj = [
        {"role": "system", "content": "policy"},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "Let me look.", "tool_calls": [_CALL]},
        {"role": "tool", "tool_call_id": "c1", "name": "find", "content": "none"},
        {"role": "assistant", "content": "Nothing.", "tool_calls": None},
        {"role": "user", "content": "###STOP###"},
    ]
    return {"task_id": 4, "trial": trial, "reward": 1.0, "info": {}, "traj": traj, **more}


def test_runs_are_sessions_and_messages_before_a_reply_its_prompt() -> None:
    sessions = read("tau-bench", json.dumps([_run(0), _run(1)]).encode(), name="results.json")
    assert [session.id for session in sessions] == ["task4-trial0", "task4-trial1"]
    first, second = sessions[0].turns
    assert first.final.output == (
        TextBlock(text="Let me look."),
        ToolCallBlock(name="find", arguments="{}", call_id="c1"),
    )
    assert [m.role for m in prompt_messages(sessions[0], second)] == ["system", "user", "assistant", "tool"]
    assert [wait.call_id for wait in first.tool_waits] == ["c1"]


def test_a_run_without_messages_is_named_or_counted() -> None:
    data = json.dumps([_run(0), {"task_id": 5, "traj": None}]).encode()
    with pytest.raises(TraceError, match="run 1 has no traj"):
        read("tau-bench", data)
    log = ReadLog(skip_invalid=True)
    assert len(read("tau-bench", data, log)) == 1
    assert log.omitted == {"run without messages": 1}


def test_examples_for_prompts_are_no_traffic() -> None:
    example = {"messages_display": "user: hi\nassistant: None\ntool: 7\nassistant: Seven."}
    log = ReadLog()
    assert read("tau-bench", f"{json.dumps(example)}\n" * 2, log) == []
    ((kind, count),) = log.omitted.items()
    assert "few-shot" in kind
    assert count == 2
    assert not log.assumptions


def _message(role: str, second: int, content: str | None, **more: object) -> dict[str, object]:
    return {"role": role, "content": content, "timestamp": f"2026-03-01T12:00:{second:02d}.000000", **more}


_TAU2_CALL = {"id": "c", "name": "find", "arguments": {"q": "é"}, "requestor": "assistant"}
_SIMULATION = {
    "id": "x",
    "task_id": "7",
    "trial": 0,
    "termination_reason": "user_stop",
    "start_time": "2026-03-01T12:00:00.000000",
    "messages": [
        _message("assistant", 0, "Hi! How can I help?"),
        _message("user", 2, "book it", usage={"prompt_tokens": 900, "completion_tokens": 90}),
        _message(
            "assistant",
            5,
            None,
            tool_calls=[_TAU2_CALL],
            usage={"prompt_tokens": 50, "completion_tokens": 5},
            generation_time_seconds=2.5,
        ),
        {"id": "c", "role": "tool", "requestor": "assistant", "content": "ok", "timestamp": "2026-03-01T12:00:09"},
        _message("assistant", 11, "Done.", usage=None),
        _message("user", 12, None, tool_calls=[{"id": "u", "name": "tap", "arguments": {}, "requestor": "user"}]),
        {"id": "u", "role": "tool", "requestor": "user", "content": "tapped"},
        _message("user", 15, "bye"),
        _message("assistant", 16, "Bye.", raw_data=None),
    ],
}
_INFO = {"agent_info": {"llm": "gpt", "implementation": "llm_agent"}, "environment_info": {"domain_name": "air"}}


def test_only_the_agent_of_a_simulation_is_read() -> None:
    log = ReadLog()
    data = json.dumps({"info": _INFO, "tasks": [], "simulations": [_SIMULATION]}).encode()
    (session,) = read("tau2", data, log, name="results.json")
    assert log.omitted == {
        "canned greeting, which no model made": 1,
        "call of the simulated user, another model": 3,
        "tool result of the simulated user": 1,
    }
    first, second, third = session.turns
    assert first.final.output == (ToolCallBlock(name="find", arguments='{"q": "é"}', call_id="c"),)
    assert first.final.usage == Usage(input_tokens=50, output_tokens=5)
    assert first.final.times is not None
    assert first.final.times.end_s is not None
    assert first.final.times.sent_s == pytest.approx(first.final.times.end_s - 2.5)
    assert first.tool_waits[0].duration_s == pytest.approx(4)
    assert [m.role for m in prompt_messages(session, third)] == ["assistant", "user", "assistant", "tool", *_REST]
    assert second.user_wait_s == pytest.approx(4)
    assert session.head is not None
    assert session.head.key == "tau2 air llm_agent"
    assert {turn.model for turn in session.turns} == {"gpt"}


_REST = ["assistant", "user"]


def test_the_simulated_user_is_served_beside_the_agent_if_asked_for() -> None:
    info = {**_INFO, "user_info": {"llm": "other", "global_simulation_guidelines": "Play a customer."}}
    tasks = [{"id": "6"}, {"id": "7", "user_scenario": {"instructions": "Book it."}}]
    data = json.dumps({"info": info, "tasks": tasks, "simulations": [_SIMULATION]}).encode()
    log = ReadLog(simulated_users=True)
    agent, user = read("tau2", data, log)
    assert agent == read("tau2", data)[0]
    assert log.omitted == {"canned greeting, which no model made": 1}
    assert (user.parent, user.agent) == (SpawnLink(session_id=agent.id), "simulated user")
    assert {turn.model for turn in user.turns} == {"other"}
    asked, tapped, left = user.turns
    assert asked.final.output == (TextBlock(text="book it"),)
    assert asked.final.usage == Usage(input_tokens=900, output_tokens=90)
    # What the agent asks of its tools never reaches the user; the user's own tools do.
    assert [m.role for m in prompt_messages(user, asked)] == ["system", "user"]
    assert [m.role for m in prompt_messages(user, tapped)] == ["system", "user", "assistant", "user"]
    assert tapped.final.output == (ToolCallBlock(name="tap", arguments="{}", call_id="u"),)
    assert [m.role for m in prompt_messages(user, left)] == ["system", "user", "assistant", "user", "assistant", "tool"]
    system = next(prompt_messages(user, asked))
    assert system.blocks == (TextBlock(text="Play a customer."), TextBlock(text='{"instructions": "Book it."}'))
    assert asked.user_wait_s == pytest.approx(9)


def test_without_its_instructions_the_simulated_user_has_a_hidden_head() -> None:
    _, user = read("tau2", json.dumps(_SIMULATION), ReadLog(simulated_users=True))
    assert user.head is not None
    assert [m.role for m in prompt_messages(user, user.turns[0])] == ["user"]


def test_a_results_file_without_simulations_says_so() -> None:
    log = ReadLog()
    assert read("tau2", json.dumps({"info": _INFO, "tasks": []}), log) == []
    assert log.omitted.total() == 1


def test_a_simulation_by_itself_and_one_of_voice() -> None:
    assert [s.id for s in read("tau2", json.dumps(_SIMULATION).encode())] == ["task7-trial0"]
    voice = {"task_id": "1", "trial": 0, "termination_reason": "x", "ticks": [{"tick_id": 0}]}
    log = ReadLog()
    assert read("tau2", json.dumps(voice).encode(), log) == []
    assert log.omitted.total() == 1
