from __future__ import annotations

from tests.traces.agent_files import call_names, one, outputs, prompt_texts, texts
from traces.model import TextBlock, ToolCallBlock, Usage
from traces.readers import mini_swe_agent, swe_agent


def _said(role: str, content: str, **more: object) -> dict[str, object]:
    return {"role": role, "content": content, "agent": "main", **more}


def test_fenced_actions_are_prose_and_demonstrations_are_prompt() -> None:
    history = [
        _said("system", "rules"),
        _said("user", "look at this", is_demo=True),
        _said("assistant", "```\nls\n```", is_demo=True),
        _said("user", "task"),
        _said("assistant", "I list.\n```\nls -a\n```"),
        _said("user", "a b"),
    ]
    steps = [{"action": "ls -a\n", "observation": "a b", "response": "x", "execution_time": 0.25}]
    session, _ = one(swe_agent.READER, {"trajectory": steps, "history": history})
    (turn,) = session.turns
    assert outputs(turn) == (TextBlock(text="I list.\n```\nls -a\n```"),)
    assert [(wait.name, wait.duration_s) for wait in turn.tool_waits] == [("ls", 0.25)]
    assert [role for role, _ in prompt_texts(session, turn)] == ["system", "user", "assistant", "user"]
    assert session.head is None


def _called(number: int) -> list[dict[str, object]]:
    call = {"id": f"c{number}", "type": "function", "function": {"name": "bash", "arguments": '{"n": 1}'}}
    return [
        _said("assistant", f"step {number}", tool_calls=[call]),
        _said("tool", f"full output {number}", tool_call_ids=[f"c{number}"]),
    ]


def test_function_calls_and_the_prompts_that_the_steps_record() -> None:
    start = [_said("system", "rules"), _said("user", "task")]
    history = [*start, *_called(1), *_called(2), *_called(3)]
    elided = [*start, _called(1)[0], {**_called(1)[1], "content": "left out"}, *_called(2)]
    steps = [
        {"action": "x", "observation": "o", "response": "r", "execution_time": 1.5, "messages": history[:4]},
        {"action": "x", "observation": "o", "response": "r", "execution_time": 2.5, "messages": elided},
        {"action": "x", "observation": "o", "response": "r", "execution_time": 3.5, "messages": history},
    ]
    session, _ = one(swe_agent.READER, {"trajectory": steps, "history": history})
    first, second, third = session.turns
    assert outputs(first)[1] == ToolCallBlock(name="bash", arguments='{"n": 1}', call_id="c1")
    assert first.tool_waits[0].duration_s == 1.5
    assert [text for _, text in prompt_texts(session, first)] == ["rules", "task"]
    assert [text for _, text in prompt_texts(session, second)][-1] == "full output 1"
    assert [text for _, text in prompt_texts(session, third)][3] == "left out"
    assert len(prompt_texts(session, third)) == 6


def test_a_query_is_the_prompt_of_its_step() -> None:
    history = [_said("system", "rules"), _said("user", "task"), _said("assistant", "a"), _said("user", "o")]
    query = [_said("user", "short")]
    steps = [{"action": "x", "observation": "o", "response": "r", "query": query}]
    session, _ = one(swe_agent.READER, {"trajectory": steps, "history": history})
    assert prompt_texts(session, session.turns[0]) == [("user", "short")]


def test_steps_that_do_not_pair_with_replies_are_left_out() -> None:
    history = [_said("user", "task"), _said("assistant", "a"), _said("user", "o"), _said("assistant", "b")]
    steps = [{"action": "x", "observation": "o", "response": "r", "execution_time": 9.0}]
    session, log = one(swe_agent.READER, {"trajectory": steps, "history": history})
    assert [turn.tool_waits for turn in session.turns] == [(), ()]
    assert log.assumptions


_FENCED = "THOUGHT: look\n\n```bash\nls\n```"


def test_mini_list_with_fenced_commands() -> None:
    messages = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "u"},
        {"role": "assistant", "content": _FENCED},
        {"role": "user", "content": "<output>a</output>"},
        {"role": "assistant", "content": "I am done."},
    ]
    session, _ = one(mini_swe_agent.READER, messages)
    first, last = session.turns
    assert texts(outputs(first)) == [_FENCED]
    assert [(wait.name, wait.duration_s) for wait in first.tool_waits] == [("bash", None)]
    assert last.tool_waits == ()
    assert first.user_wait_s is None


def test_mini_document_with_usage_times_and_calls() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    usage = {"prompt_tokens": 70, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 50}}
    messages = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "u"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [call],
            "extra": {"timestamp": 1_780_000_000.0, "response": {"model": "m", "usage": usage}},
        },
        {"role": "tool", "tool_call_id": "c", "content": "a", "extra": {"timestamp": 1_780_000_002.5}},
        {"role": "exit", "content": "submitted"},
    ]
    document = {"trajectory_format": "mini-swe-agent-1.1", "info": {"mini_version": "2"}, "messages": messages}
    session, log = one(mini_swe_agent.READER, document)
    (turn,) = session.turns
    assert call_names(session) == ["bash"]
    assert turn.final.usage == Usage(input_tokens=70, cached_tokens=50, output_tokens=9)
    assert (turn.model, turn.tool_waits[0].duration_s) == ("m", 2.5)
    assert sum(log.omitted.values()) == 1


def test_mini_document_of_responses_items() -> None:
    output = [
        {"type": "reasoning", "summary": [], "encrypted_content": "x"},
        {"type": "function_call", "name": "bash", "call_id": "c", "arguments": "{}"},
    ]
    usage = {"input_tokens": 8, "output_tokens": 20, "output_tokens_details": {"reasoning_tokens": 15}}
    messages = [
        {"role": "user", "content": "u"},
        {"object": "response", "output": output, "usage": usage, "model": "r"},
        {"type": "function_call_output", "call_id": "c", "output": "a"},
    ]
    session, _ = one(mini_swe_agent.READER, {"trajectory_format": "mini-swe-agent-1.1", "messages": messages})
    assert session.turns[0].final.usage == Usage(input_tokens=8, output_tokens=20, reasoning_tokens=15)
    assert call_names(session) == ["bash"]
    assert session.turns[0].tool_waits[0].call_id == "c"
