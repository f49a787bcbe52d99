from __future__ import annotations

from tests.traces.agent_files import one, outputs, prompt_texts, read
from traces.model import ReasoningBlock, TextBlock, ToolCallBlock, Usage
from traces.readers.harbor import READER


def _step(number: int, source: str, message: object, **more: object) -> dict[str, object]:
    return {"step_id": number, "source": source, "message": message, **more}


def _trajectory(*steps: object, **more: object) -> dict[str, object]:
    agent = {"name": "term", "version": "1", "model_name": "m"}
    return {"schema_version": "ATIF-v1.5", "session_id": "h", "agent": agent, "steps": list(steps), **more}


_CALL = {"tool_call_id": "c", "function_name": "sh", "arguments": {"k": "ls"}}
_METRICS = {
    "prompt_tokens": 80,
    "cached_tokens": 60,
    "completion_tokens": 9,
    "completion_token_ids": [1, 2],
    "logprobs": [-0.5, -0.5],
}


def test_steps_with_calls_metrics_and_observations() -> None:
    seen = {"results": [{"source_call_id": "c", "content": "a b"}]}
    trajectory = _trajectory(
        _step(1, "system", "rules"),
        _step(2, "user", [{"type": "text", "text": "list"}]),
        _step(3, "agent", "I list.", reasoning_content="hm", tool_calls=[_CALL], observation=seen, metrics=_METRICS),
        _step(4, "agent", "Two."),
    )
    session, _ = one(READER, trajectory)
    first, last = session.turns
    assert outputs(first) == (
        ReasoningBlock(text="hm"),
        TextBlock(text="I list."),
        ToolCallBlock(name="sh", arguments='{"k": "ls"}', call_id="c"),
    )
    assert first.final.usage == Usage(input_tokens=80, cached_tokens=60, output_tokens=9)
    assert prompt_texts(session, first) == [("system", "rules"), ("user", "list")]
    assert prompt_texts(session, last)[-1] == ("tool", "a b")
    assert first.tool_waits[0].duration_s is None
    assert last.final.usage is None


def test_copied_steps_are_prompt_only() -> None:
    trajectory = _trajectory(
        _step(1, "agent", "from before", is_copied_context=True),
        _step(2, "agent", "scripted", llm_call_count=0),
        _step(3, "agent", "new"),
    )
    session, log = one(READER, trajectory)
    assert [text for _, text in prompt_texts(session, session.turns[0])] == ["from before", "scripted"]
    assert sum(log.omitted.values()) == 2


def test_sub_agents_are_linked_to_the_step_that_started_them() -> None:
    reference = {"results": [{"content": "ran", "subagent_trajectory_ref": [{"session_id": "inner"}]}]}
    main = _trajectory(_step(1, "agent", "delegate", observation=reference))
    sessions, _ = read(READER, _trajectory(_step(1, "agent", "inside"), session_id="inner"), main)
    child = next(session for session in sessions if session.id == "inner")
    assert child.parent is not None
    assert (child.parent.session_id, child.parent.turn_id) == ("h", "step 1")
