from __future__ import annotations

from tests.traces.agent_files import call_names, lines, one, outputs, prompt_texts, read, texts
from traces.model import ReasoningBlock, TextBlock, ToolCallBlock, Usage
from traces.readers import antigravity, cursor, droid, hermes_agent, no_trace, opencode, pi


def _parts(*parts: object) -> dict[str, object]:
    return {"content": list(parts)}


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def test_cursor_rows_are_replies_without_times() -> None:
    rows = (
        {"role": "user", "message": _parts(_text("q"))},
        {"role": "assistant", "message": _parts(_text("a"), {"type": "tool_use", "name": "Sh", "input": {"c": 1}})},
        {"role": "assistant", "message": _parts(_text("b"))},
        {"type": "turn_ended"},
    )
    session, log = one(cursor.READER, lines(*rows))
    assert outputs(session.turns[0]) == (TextBlock(text="a"), ToolCallBlock(name="Sh", arguments='{"c": 1}'))
    assert session.turns[0].tool_waits[0].duration_s is None
    assert prompt_texts(session, session.turns[1]) == [("user", "q"), ("assistant", "a")]
    assert sum(log.omitted.values()) == 1


def test_droid_store_and_stream_tell_the_same() -> None:
    stamp = "2026-01-01T00:00:{:02d}Z"
    store = (
        {"type": "session_start", "id": "d"},
        {"type": "message", "timestamp": stamp.format(1), "message": {"role": "user", **_parts(_text("q"))}},
        {
            "type": "message",
            "timestamp": stamp.format(2),
            "message": {"role": "assistant", **_parts({"type": "tool_use", "id": "c", "name": "Sh", "input": {}})},
        },
        {
            "type": "message",
            "timestamp": stamp.format(5),
            "message": {"role": "user", **_parts({"type": "tool_result", "tool_use_id": "c", "content": "r"})},
        },
        {"type": "message", "timestamp": stamp.format(6), "message": {"role": "assistant", **_parts(_text("end"))}},
    )
    base = {"session_id": "d"}
    stream = (
        {**base, "type": "message", "role": "user", "text": "q", "timestamp": stamp.format(1)},
        {
            **base,
            "type": "tool_call",
            "toolCallId": "c",
            "toolName": "Sh",
            "parameters": {},
            "timestamp": stamp.format(2),
        },
        {**base, "type": "tool_result", "toolCallId": "c", "value": "r", "timestamp": stamp.format(5)},
        {**base, "type": "completion", "finalText": "end", "timestamp": stamp.format(6)},
    )
    stored, _ = one(droid.READER, lines(*store))
    streamed, _ = one(droid.READER, lines(*stream))
    assert stored == streamed
    assert stored.turns[0].tool_waits[0].duration_s == 3.0


def test_droid_s_closing_text_is_not_a_second_reply() -> None:
    base = {"session_id": "d", "type": "message"}
    rows = ({**base, "role": "user", "text": "q"}, {**base, "role": "assistant", "text": "a"})
    session, log = one(droid.READER, lines(*rows, {"session_id": "d", "type": "completion", "finalText": "a"}))
    assert len(session.turns) == 1
    assert sum(log.duplicates.values()) == 1


def _pi(entry: str, parent: str | None, role: str, text: str, **more: object) -> dict[str, object]:
    message = {"role": role, **_parts(_text(text)), **more}
    return {"type": "message", "id": entry, "parentId": parent, "timestamp": "2026-01-01T00:00:01Z", "message": message}


_PI_HEAD = {"type": "session", "version": 3, "id": "p"}


def test_pi_branches_have_their_own_prompts() -> None:
    rows = (
        _PI_HEAD,
        _pi("a", None, "user", "one"),
        _pi("b", "a", "assistant", "left", usage={"input": 3, "cacheRead": 5, "cacheWrite": 1, "output": 2}),
        _pi("c", "a", "user", "two"),
        _pi("d", "c", "assistant", "right"),
    )
    session, _ = one(pi.READER, lines(*rows))
    assert prompt_texts(session, session.turns[1]) == [("user", "one"), ("user", "two")]
    assert session.turns[0].final.usage == Usage(input_tokens=9, cached_tokens=5, cache_write_tokens=1, output_tokens=2)


def test_pi_compaction_keeps_what_it_names() -> None:
    compaction = {"type": "compaction", "id": "k", "parentId": "d", "summary": "sum", "firstKeptEntryId": "c"}
    rows = (
        _PI_HEAD,
        _pi("a", None, "user", "one"),
        _pi("b", "a", "assistant", "first"),
        _pi("c", "b", "user", "two"),
        _pi("d", "c", "assistant", "second"),
        compaction,
        _pi("e", "k", "user", "three"),
        _pi("f", "e", "assistant", "third"),
    )
    session, log = one(pi.READER, lines(*rows))
    said = [text for _, text in prompt_texts(session, session.turns[2])]
    assert said == ["sum", "two", "second", "three"]
    assert any("compaction" in kind for kind in log.omitted)


def test_openclaw_tool_results_name_their_call() -> None:
    call = {"type": "toolCall", "id": "t", "name": "sh", "arguments": {"c": "ls"}}
    rows = (
        _PI_HEAD,
        _pi("a", "p", "user", "go"),
        {**_pi("b", "a", "assistant", ""), "message": {"role": "assistant", **_parts(call)}},
        {
            "type": "message",
            "id": "r",
            "parentId": "t",
            "timestamp": "2026-01-01T00:00:03Z",
            "message": {"role": "toolResult", "toolCallId": "t", "content": "out", "isError": False},
        },
        _pi("z", "r", "assistant", "end"),
    )
    session, _ = one(pi.READER, lines(*rows))
    assert call_names(session) == ["sh"]
    assert session.turns[0].tool_waits[0].duration_s == 2.0
    assert prompt_texts(session, session.turns[1])[-1] == ("tool", "out")


def test_hermes_session_with_system_prompt_and_tools() -> None:
    messages = [
        {"role": "user", "content": "where"},
        {
            "role": "assistant",
            "content": "look",
            "reasoning": "think",
            "tool_calls": [{"id": "c", "function": {"name": "sh", "arguments": '{"c":"pwd"}'}}],
        },
        {"role": "tool", "tool_call_id": "c", "tool_name": "sh", "content": "/x"},
        {"role": "session_meta"},
        {"role": "assistant", "content": "there", "finish_reason": "stop"},
    ]
    document = {
        "session_id": "h",
        "platform": "cli",
        "model": "m",
        "system_prompt": "You are.",
        "tools": [{"type": "function", "function": {"name": "sh"}}],
        "messages": messages,
    }
    session, _ = one(hermes_agent.READER, document)
    assert outputs(session.turns[0])[0] == ReasoningBlock(text="think")
    assert prompt_texts(session, session.turns[0]) == [("system", "You are."), ("user", "where")]
    assert ([tool.name for tool in session.tools], session.head) == (["sh"], None)


def test_antigravity_steps() -> None:
    def step(kind: str, source: str, **more: object) -> dict[str, object]:
        return {"step_index": 0, "source": source, "type": kind, "created_at": "2026-01-01T00:00:00Z", **more}

    call = {"name": "list_dir", "args": {"Path": '"/r"', "Deep": "true", "Note": "plain text"}}
    rows = (
        step("USER_INPUT", "USER_EXPLICIT", content="list"),
        step("CONVERSATION_HISTORY", "SYSTEM"),
        step("PLANNER_RESPONSE", "MODEL", thinking="hm", tool_calls=[call]),
        step("LIST_DIRECTORY", "MODEL", content="a"),
        step("PLANNER_RESPONSE", "MODEL", content="one file"),
        step("CHECKPOINT", "SYSTEM", content="resumed"),
        step("PLANNER_RESPONSE", "MODEL", content="on"),
    )
    session, _ = one(antigravity.READER, lines(*rows))
    assert outputs(session.turns[0]) == (
        ReasoningBlock(text="hm"),
        ToolCallBlock(name="list_dir", arguments='{"Path": "/r", "Deep": true, "Note": "plain text"}'),
    )
    assert [text for _, text in prompt_texts(session, session.turns[1])] == ["list", "hm", "a"]
    assert prompt_texts(session, session.turns[2]) == [("user", "resumed")]


def _opencode() -> dict[str, object]:
    tool = {"status": "completed", "input": {"c": "ls"}, "output": "a", "time": {"start": 2000, "end": 2500}}
    return {
        "s": {"id": "ses", "projectID": "p", "time": {"created": 1000}},
        "u": {"id": "msg1", "sessionID": "ses", "role": "user", "time": {"created": 1000}},
        "a": {"id": "msg2", "sessionID": "ses", "role": "assistant", "modelID": "m", "time": {"created": 1500}},
        "p1": {"id": "prt1", "messageID": "msg1", "type": "text", "text": "go", "time": {"start": 1000}},
        "p2": {"id": "prt2", "messageID": "msg2", "type": "step-start", "time": {}},
        "p3": {"id": "prt3", "messageID": "msg2", "type": "tool", "callID": "c", "tool": "bash", "state": tool},
        "p4": {
            "id": "prt4",
            "messageID": "msg2",
            "type": "step-finish",
            "reason": "tool-calls",
            "tokens": {"input": 4, "output": 9, "reasoning": 2, "cache": {"read": 30, "write": 1}},
        },
        "p5": {"id": "prt5", "messageID": "msg2", "type": "step-start", "time": {}},
        "p6": {"id": "prt6", "messageID": "msg2", "type": "text", "text": "done"},
        "lost": {"id": "prt7", "messageID": "msg9", "type": "text", "text": "lost"},
    }


def test_opencode_files_make_a_session_of_steps() -> None:
    sessions, log = read(opencode.READER, *reversed(_opencode().values()))
    assert [prompt_texts(session, session.turns[0]) for session in sessions] == [[("user", "go")]]
    assert log.omitted["OpenCode part whose message is not among the files"] == 1


def test_opencode_steps_carry_their_usage() -> None:
    session, _ = one(opencode.READER, *_opencode().values())
    first, second = session.turns
    assert first.final.usage == Usage(
        input_tokens=35, cached_tokens=30, cache_write_tokens=1, output_tokens=9, reasoning_tokens=2
    )
    assert first.tool_waits[0].duration_s == 0.5
    assert (first.final.finish_reason, texts(outputs(second))) == ("tool-calls", ["done"])


def test_companions_are_named_as_what_they_are() -> None:
    patches = [{"instance_id": "i", "model_patch": "diff", "model_name_or_path": "m"}]
    sessions, log = read(no_trace.READER, patches, {"findings": [], "overall_correctness": "ok"})
    assert sessions == []
    assert set(log.omitted) == {"SWE-bench predictions (patches only)", "code review verdict"}
