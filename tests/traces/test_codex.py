from __future__ import annotations

from tests.traces.agent_files import call_names, lines, one, outputs, prompt_texts, read
from traces.model import ReasoningBlock, TextBlock, ToolCallBlock, Usage
from traces.readers.codex import READER


def _row(second: int, kind: str, payload: object) -> dict[str, object]:
    return {"timestamp": f"2026-01-05T08:00:{second:02d}.000Z", "type": kind, "payload": payload}


def _item(second: int, **payload: object) -> dict[str, object]:
    return _row(second, "response_item", payload)


def _said(second: int, role: str, text: str) -> dict[str, object]:
    kind = "output_text" if role == "assistant" else "input_text"
    return _item(second, type="message", role=role, content=[{"type": kind, "text": text}])


def _count(second: int, total: dict[str, int], last: dict[str, int] | None = None) -> dict[str, object]:
    info = {"total_token_usage": total} | ({"last_token_usage": last} if last else {})
    return _row(second, "event_msg", {"type": "token_count", "info": info})


def _counts(inputs: int, cached: int, out: int, thought: int) -> dict[str, int]:
    return {
        "input_tokens": inputs,
        "cached_input_tokens": cached,
        "output_tokens": out,
        "reasoning_output_tokens": thought,
    }


_META = _row(0, "session_meta", {"id": "sess-1", "cli_version": "0.9", "base_instructions": {"text": "Be brief."}})
_FIRST = (
    _said(1, "user", "count the files"),
    _item(3, type="reasoning", summary=[{"type": "summary_text", "text": "short"}], encrypted_content="zz"),
    _item(4, type="function_call", name="shell", arguments='{"c": "ls"}', call_id="c1"),
    _count(4, _counts(100, 40, 30, 20), _counts(100, 40, 30, 20)),
    _row(4, "event_msg", {"type": "agent_reasoning", "text": "short"}),
    _item(9, type="function_call_output", call_id="c1", output="3 files"),
    _said(11, "assistant", "Three."),
    _row(11, "event_msg", {"type": "agent_message", "message": "Three."}),
)


def test_calls_are_closed_by_counts_and_inputs_and_events_are_not_read_twice() -> None:
    session, log = one(READER, lines(_META, *_FIRST, _count(12, _counts(230, 140, 38, 20))))
    first, second = session.turns
    assert outputs(first) == (
        ReasoningBlock(tokens=20),
        ToolCallBlock(name="shell", arguments='{"c": "ls"}', call_id="c1"),
    )
    assert outputs(second) == (TextBlock(text="Three."),)
    assert first.tool_waits[0].duration_s == 5.0
    assert prompt_texts(session, first) == [("system", "Be brief."), ("user", "count the files")]
    assert session.id == "sess-1"
    assert not log.duplicates


def test_cumulative_counts_are_turned_into_differences() -> None:
    session, _ = one(READER, lines(_META, *_FIRST, _count(12, _counts(230, 140, 38, 20))))
    assert session.turns[1].final.usage == Usage(
        input_tokens=130, cached_tokens=100, output_tokens=8, reasoning_tokens=0
    )


def test_totals_that_fall_have_started_anew() -> None:
    session, _ = one(READER, lines(_META, *_FIRST, _count(12, _counts(50, 0, 6, 0))))
    usage = session.turns[1].final.usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens) == (50, 6)


def test_repeated_totals_and_empty_counts_add_nothing() -> None:
    total = _counts(100, 40, 30, 20)
    rows = (_META, *_FIRST, _count(12, total, total), _row(13, "event_msg", {"type": "token_count", "info": None}))
    session, log = one(READER, lines(*rows))
    assert session.turns[1].final.usage is None
    assert sum(log.duplicates.values()) == 1


def test_bare_items_of_the_oldest_files() -> None:
    stamp = "2025-01-01T00:00:00Z"
    rows = (
        {"timestamp": stamp, "role": "user", "content": "hi", "model": "m1"},
        {"timestamp": stamp, "type": "function_call", "name": "shell", "arguments": "{}", "call_id": "a"},
        {"timestamp": stamp, "type": "function_call_output", "call_id": "a", "output": "ok"},
        {"timestamp": stamp, "role": "assistant", "content": "done"},
    )
    session, _ = one(READER, lines(*rows))
    assert [turn.model for turn in session.turns] == ["m1", "m1"]
    assert call_names(session) == ["shell"]


def test_free_form_and_hosted_calls() -> None:
    rows = (
        _META,
        _said(1, "user", "x"),
        _item(2, type="custom_tool_call", name="apply_patch", input="*** Begin", call_id="p"),
        _item(2, type="web_search_call", id="w", action={"query": "q"}),
    )
    session, _ = one(READER, lines(*rows))
    patch, search = outputs(session.turns[0])
    assert patch == ToolCallBlock(name="apply_patch", arguments="*** Begin", call_id="p", free_form=True)
    assert search == ToolCallBlock(name="web_search", arguments='{"query": "q"}', call_id="w")


def test_compaction_replaces_the_history() -> None:
    kept = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "summary"}]}]
    rows = (_META, *_FIRST, _row(20, "compacted", {"message": "", "replacement_history": kept}))
    session, log = one(READER, lines(*rows, _said(21, "user", "go on"), _said(22, "assistant", "ok")))
    assert prompt_texts(session, session.turns[-1]) == [
        ("system", "Be brief."),
        ("user", "summary"),
        ("user", "go on"),
    ]
    assert any("compaction" in kind for kind in log.omitted)


def test_a_fork_does_not_repeat_the_calls_of_its_origin() -> None:
    copied = (_row(30, "session_meta", {"id": "sess-2", "forked_from_id": "sess-1"}), _META, *_FIRST)
    fresh = (_said(40, "user", "more"), _said(41, "assistant", "Four."))
    last = _count(42, _counts(300, 0, 45, 20), _counts(70, 0, 7, 0))
    closing = _count(12, _counts(230, 140, 38, 20))
    sessions, log = read(READER, lines(_META, *_FIRST, closing), lines(*copied, closing, *fresh, last))
    assert [len(session.turns) for session in sessions] == [2, 1]
    assert log.duplicates["Codex call copied from another session"] == 2
    assert prompt_texts(sessions[1], sessions[1].turns[-1])[-1] == ("user", "more")


def test_a_sub_agent_names_its_parent() -> None:
    source = {"subagent": {"thread_spawn": {"parent_thread_id": "sess-1", "agent_role": "explorer"}}}
    meta = _row(0, "session_meta", {"id": "child", "source": source})
    session, _ = one(READER, lines(meta, _said(1, "user", "x"), _said(2, "assistant", "y")))
    assert session.parent is not None
    assert (session.parent.session_id, session.agent) == ("sess-1", "explorer")


def test_usage_totals_without_content_are_no_turns() -> None:
    done = _row(5, "event_msg", {"type": "turn.completed", "usage": {"input_tokens": 9, "output_tokens": 2}})
    sessions, log = read(READER, lines(_META, done, done))
    assert sessions == []
    assert list(log.omitted.values()) == [2]
