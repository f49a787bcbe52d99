from __future__ import annotations

import pytest

from tests.traces.agent_files import lines, one, outputs, prompt_texts, read
from traces.model import ReasoningBlock, TextBlock, ToolCallBlock, Usage
from traces.readers.kimi_cli import READER

_T = 1_780_000_000_000


def _loop(at: int, **event: object) -> dict[str, object]:
    return {"type": "context.append_loop_event", "event": event, "time": _T + at}


def _request(at: int, **more: object) -> dict[str, object]:
    return {"type": "llm.request", "model": "k2", "maxTokens": 500, "time": _T + at, **more}


def _user(at: int, text: str) -> dict[str, object]:
    return {
        "type": "context.append_message",
        "message": {"role": "user", "content": [{"type": "text", "text": text}]},
        "time": _T + at,
    }


_SETUP = {"type": "config.update", "systemPrompt": "You help.", "time": _T}
_TOOLS = {"type": "llm.tools_snapshot", "tools": [{"name": "Sh", "parameters": {"type": "object"}}], "time": _T}
_USAGE = {"inputOther": 20, "inputCacheRead": 60, "inputCacheCreation": 4, "output": 33}
_STEP = (
    _loop(5, type="step.begin", uuid="s1"),
    _request(10),
    _loop(900, type="content.part", stepUuid="s1", part={"type": "think", "think": "hmm"}),
    _loop(950, type="tool.call", stepUuid="s1", toolCallId="c", name="Sh", args={"x": 1}),
    _loop(3450, type="tool.result", toolCallId="c", result={"output": "fine", "isError": True}),
    _loop(
        3460,
        type="step.end",
        uuid="s1",
        usage=_USAGE,
        finishReason="tool_use",
        llmFirstTokenLatencyMs=400,
        llmStreamDurationMs=490,
    ),
)


def test_a_step_with_its_times_usage_and_tool() -> None:
    session, _ = one(READER, lines(_SETUP, _TOOLS, _user(1, "go"), *_STEP))
    turn = session.turns[0]
    assert outputs(turn) == (ReasoningBlock(text="hmm"), ToolCallBlock(name="Sh", arguments='{"x": 1}', call_id="c"))
    assert turn.final.usage == Usage(input_tokens=84, cached_tokens=60, cache_write_tokens=4, output_tokens=33)
    times = turn.final.times
    assert times is not None
    assert times.sent_s is not None
    assert times.first_token_s == pytest.approx(times.sent_s + 0.4)
    assert times.end_s == pytest.approx(times.sent_s + 0.89)
    assert turn.tool_waits[0].duration_s == pytest.approx(2.5)
    assert (turn.model, turn.max_tokens, turn.final.finish_reason) == ("k2", 500, "tool_use")
    assert prompt_texts(session, turn) == [("system", "You help."), ("user", "go")]
    assert [tool.name for tool in session.tools] == ["Sh"]
    assert session.head is None


def test_the_next_prompt_holds_the_thinking_and_the_result() -> None:
    again = (
        _loop(4000, type="step.begin", uuid="s2"),
        _loop(4100, type="content.part", part={"type": "text", "text": "done"}),
        _loop(4200, type="step.end", uuid="s2"),
    )
    session, _ = one(READER, lines(_SETUP, _user(1, "go"), *_STEP, *again))
    assert prompt_texts(session, session.turns[1])[2:] == [("assistant", "hmm"), ("tool", "fine")]


def test_failed_requests_and_cancelled_steps_are_counted() -> None:
    cut = (_loop(5, type="step.begin", uuid="s0"), _request(6), _request(7, attempt="2/10"))
    sessions, log = read(READER, lines(_SETUP, _user(1, "go"), *cut, _user(50, "again"), *_STEP))
    assert len(sessions[0].turns) == 1
    assert log.omitted == {
        "Kimi request that failed and was sent again": 1,
        "Kimi step without a reply (cancelled or failed)": 1,
    }


def test_a_compaction_is_a_call_and_replaces_the_history() -> None:
    compaction = (
        _request(5000, kind="compaction"),
        {"type": "usage.record", "usage": {"inputOther": 90, "output": 12}, "time": _T + 6000},
        {
            "type": "context.apply_compaction",
            "summary": "so far",
            "contextSummary": "Notes: so far",
            "keptUserMessageCount": 1,
            "time": _T + 6001,
        },
    )
    after = (_user(7000, "next"), _loop(7001, type="step.begin", uuid="s3"))
    text = _loop(7100, type="content.part", part={"type": "text", "text": "ok"})
    session, log = one(READER, lines(_SETUP, _user(1, "go"), *_STEP, *compaction, *after, text))
    summary = session.turns[1]
    assert outputs(summary) == (TextBlock(text="so far"),)
    assert summary.final.usage == Usage(input_tokens=90, output_tokens=12)
    assert prompt_texts(session, session.turns[2]) == [
        ("system", "You help."),
        ("user", "go"),
        ("user", "Notes: so far"),
        ("user", "next"),
    ]
    assert any("compaction" in text for text in log.assumptions)
