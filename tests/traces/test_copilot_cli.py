from __future__ import annotations

from tests.traces.agent_files import lines, one, outputs, prompt_texts, read
from traces.model import ReasoningBlock, ToolCallBlock, Usage
from traces.readers.copilot_cli import READER


def _event(second: int, kind: str, **data: object) -> dict[str, object]:
    return {"type": kind, "data": data, "id": f"e{second}", "timestamp": f"2026-04-01T00:00:{second:02d}Z"}


_START = _event(0, "session.start", sessionId="cp", selectedModel="m0")
_ASK = {"toolCallId": "t", "name": "sh", "arguments": {"c": "ls"}}


def test_replies_tools_and_the_only_count_there_is() -> None:
    rows = (
        _START,
        _event(1, "user.message", content="hi", transformedContent="hi there"),
        _event(2, "assistant.turn_start", turnId="0"),
        _event(
            5,
            "assistant.message",
            messageId="m1",
            content="",
            toolRequests=[_ASK],
            outputTokens=11,
            reasoningOpaque="z",
        ),
        _event(6, "tool.execution_start", toolCallId="t", toolName="sh"),
        _event(9, "tool.execution_complete", toolCallId="t", success=False, result={"content": "no"}),
        _event(11, "assistant.message", messageId="m2", content="bye", outputTokens=0),
    )
    session, _ = one(READER, lines(*rows))
    first, second = session.turns
    assert outputs(first) == (ReasoningBlock(), ToolCallBlock(name="sh", arguments='{"c": "ls"}', call_id="t"))
    assert first.final.usage == Usage(output_tokens=11)
    assert second.final.usage is None
    assert first.tool_waits[0].duration_s == 3.0
    assert first.final.times is not None
    assert first.final.times.sent_s is not None
    assert prompt_texts(session, second) == [("user", "hi there"), ("assistant", ""), ("tool", "no")]
    assert (session.id, first.model) == ("cp", "m0")


def test_a_sub_agent_is_a_session_of_its_own() -> None:
    rows = (
        _START,
        _event(1, "assistant.message", messageId="m1", content="", toolRequests=[_ASK]),
        _event(2, "subagent.started", toolCallId="t", agentName="scout"),
        _event(3, "assistant.message", messageId="m2", parentToolCallId="t", content="inner"),
    )
    sessions, _ = read(READER, lines(*rows))
    main, inner = sessions
    assert [len(main.turns), len(inner.turns)] == [1, 1]
    assert inner.parent is not None
    assert (inner.parent.session_id, inner.parent.turn_id, inner.agent) == ("cp", "m1", "scout")
