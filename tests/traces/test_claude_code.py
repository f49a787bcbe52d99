from __future__ import annotations

import json

import pytest

from tests.traces.reading import read, read_only
from traces.checks import problems
from traces.errors import TraceError
from traces.model import ReasoningBlock, Session, SpawnLink, TextBlock, ToolCallBlock, Turn, Usage, prompt_messages
from traces.readlog import ReadLog
from traces.registry import reader_named
from traces.source import SourceFile

_MODEL = "claude-sonnet-4-5"


def _at(second: float) -> str:
    return f"2026-02-01T10:{int(second) // 60:02d}:{second % 60:06.3f}Z"


def user(uuid: str, parent: str | None, second: float, content: object, **more: object) -> dict[str, object]:
    message = {"role": "user", "content": content}
    return {
        "type": "user",
        "uuid": uuid,
        "parentUuid": parent,
        "sessionId": "S",
        "timestamp": _at(second),
        "message": message,
        **more,
    }


def reply(
    uuid: str, parent: str | None, second: float, mid: str, *blocks: object, out: int = 5, **more: object
) -> dict[str, object]:
    usage = {
        "input_tokens": 3,
        "cache_creation_input_tokens": 20,
        "cache_read_input_tokens": 100,
        "output_tokens": out,
    }
    message = {"id": mid, "role": "assistant", "model": _MODEL, "content": list(blocks), "usage": usage}
    return {**user(uuid, parent, second, None, **more), "type": "assistant", "message": message}


def text(said: str) -> dict[str, object]:
    return {"type": "text", "text": said}


def call(call_id: str, name: str = "Bash", **arguments: object) -> dict[str, object]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(call_id: str, said: str) -> dict[str, object]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": said}


def lines(*rows: object) -> bytes:
    return b"\n".join(json.dumps(row).encode() for row in rows)


def one(*rows: object, log: ReadLog | None = None) -> Session:
    (session,) = read("claude-code", lines(*rows), log)
    assert list(problems(session)) == []
    return session


def said(session: Session, turn: Turn) -> list[str]:
    return [
        f"{message.role}:{getattr(block, 'text', None) or getattr(block, 'name', '')}"
        for message in prompt_messages(session, turn)
        for block in message.blocks
    ]


def files(**contents: bytes) -> list[SourceFile]:
    return [SourceFile(None, f"{name}.jsonl", data) for name, data in contents.items()]


_PARALLEL = (
    user("u1", None, 0, "go"),
    reply("a1", "u1", 2, "m1", text("both"), out=1),
    reply("a2", "a1", 3, "m1", call("c1", command="ls"), out=1),
    user("r1", "a2", 3.5, [result("c1", "one")]),
    reply("a3", "a2", 4, "m1", call("c2", command="pwd"), out=60),
    user("r2", "a3", 9, [result("c2", "two")]),
    reply("a4", "r2", 11, "m2", text("done")),
)


def test_rows_of_one_message_id_are_one_reply_with_the_last_usage_and_all_its_results() -> None:
    session = one(*_PARALLEL)
    first, second = session.turns
    assert [type(block) for block in first.final.output] == [TextBlock, ToolCallBlock, ToolCallBlock]
    assert first.final.usage == Usage(input_tokens=123, cached_tokens=100, cache_write_tokens=20, output_tokens=60)
    assert said(session, second) == ["user:go", "assistant:both", "assistant:Bash", "assistant:Bash", *_RESULTS]
    assert [wait.duration_s for wait in first.tool_waits] == [pytest.approx(0.5), pytest.approx(5.0)]
    assert second.parent == first.id


_RESULTS = ["tool:one", "tool:two"]


def test_times_waits_of_a_person_and_the_hidden_head() -> None:
    rows = (
        user("u1", None, 0, "hi"),
        reply("a1", "u1", 2, "m1", text("hello")),
        user("u2", "a1", 32, "more"),
        reply("a2", "u2", 35, "m2", text("sure")),
    )
    session = one(*rows)
    first, second = session.turns
    assert first.user_wait_s == pytest.approx(30)
    assert second.user_wait_s is None
    assert session.start_s is not None
    assert first.final.times is not None
    assert first.final.times.sent_s == session.start_s
    assert first.final.times.end_s == pytest.approx(session.start_s + 2)
    moved = one(*({**row, "cwd": "/elsewhere", "version": "9.9"} for row in rows))
    assert session.head is not None
    assert moved.head == session.head


def test_thinking_without_text_is_hidden_reasoning() -> None:
    hidden = {"type": "thinking", "thinking": "", "signature": "x"}
    session = one(user("u", None, 0, "q"), reply("a", "u", 1, "m", hidden, text("a"), out=400))
    assert session.turns[0].final.output == (ReasoningBlock(), TextBlock(text="a"))


def test_a_rewound_prompt_leaves_the_dropped_branch_out() -> None:
    session = one(
        user("u1", None, 0, "start"),
        reply("a1", "u1", 1, "m1", text("ok")),
        user("u2", "a1", 2, "wrong turn"),
        reply("a2", "u2", 3, "m2", text("lost")),
        user("u3", "a1", 9, "right turn"),
        reply("a3", "u3", 10, "m3", text("kept")),
    )
    assert said(session, session.turns[2]) == ["user:start", "assistant:ok", "user:right turn"]
    assert session.turns[2].parent == "m2"


@pytest.mark.parametrize("parent", ["never-written", "a2"], ids=["missing", "cycle"])
def test_a_parent_that_is_not_there_yet_falls_back_to_file_order(parent: str) -> None:
    log = ReadLog()
    session = one(
        user("u1", None, 0, "start"),
        reply("a1", "u1", 1, "m1", text("ok")),
        user("u2", parent, 2, "next"),
        reply("a2", "u2", 3, "m2", text("fine")),
        log=log,
    )
    assert said(session, session.turns[1]) == ["user:start", "assistant:ok", "user:next"]
    assert sum(log.assumptions.values()) >= 1


def test_a_compaction_starts_the_prompt_anew() -> None:
    boundary = {
        "type": "system",
        "subtype": "compact_boundary",
        "uuid": "b",
        "parentUuid": None,
        "sessionId": "S",
        "timestamp": _at(2),
    }
    session = one(
        user("u1", None, 0, "long story"),
        reply("a1", "u1", 1, "m1", text("ok")),
        boundary,
        user("s", "b", 3, "in short", isCompactSummary=True),
        user("u2", "s", 4, "go on"),
        reply("a2", "u2", 5, "m2", text("yes")),
    )
    assert said(session, session.turns[1]) == ["user:in short", "user:go on"]


def test_a_folder_counts_copied_replies_once_and_keeps_them_in_prompts() -> None:
    shared = [user("u1", None, 0, "start"), reply("a1", "u1", 1, "m1", text("ok"))]
    fork = [{**row, "sessionId": "F"} for row in shared]
    new = [user("u2", "a1", 5, "fork"), reply("a2", "u2", 6, "m2", text("f"))]
    more = [{**row, "sessionId": "F"} for row in new]
    log = ReadLog()
    sessions = list(reader_named("claude-code").read(files(a=lines(*shared), b=lines(*fork, *more)), log))
    assert [[turn.id for turn in session.turns] for session in sessions] == [["m1"], ["m2"]]
    assert said(sessions[1], sessions[1].turns[0]) == ["user:start", "assistant:ok", "user:fork"]
    assert log.duplicates.total() == 1


def test_a_file_copied_whole_adds_nothing() -> None:
    log = ReadLog()
    sessions = list(reader_named("claude-code").read(files(a=lines(*_PARALLEL), b=lines(*_PARALLEL)), log))
    assert [len(session.turns) for session in sessions] == [2]
    assert log.duplicates.total() == len(_PARALLEL)


def _agent(uuid: str, parent: str | None, row: dict[str, object]) -> dict[str, object]:
    return {**row, "uuid": uuid, "parentUuid": parent, "isSidechain": True, "agentId": "ag1"}


def test_a_sub_agent_is_a_session_started_by_the_call_that_names_it() -> None:
    task = call("t", "Task", prompt="look", subagent_type="explorer")
    main = (
        user("u1", None, 0, "go"),
        reply("a1", "u1", 1, "m1", task),
        user("r", "a1", 9, [result("t", "found")], toolUseResult={"agentId": "ag1"}),
        reply("a2", "r", 10, "m2", text("done")),
    )
    side = (
        _agent("x1", None, user("", None, 2, "look")),
        _agent("x2", "x1", reply("", None, 3, "n1", call("g", "Grep"))),
        _agent("x3", "x2", user("", None, 4, [result("g", "hit")])),
        _agent("x4", "x3", reply("", None, 5, "n2", text("found"))),
    )
    given = files(main=lines(*main), **{"agent-ag1": lines(*side)})
    parent, child = list(reader_named("claude-code").read(given, ReadLog()))
    assert child.parent == SpawnLink(session_id=parent.id, turn_id="m1")
    assert child.agent == "explorer"
    assert said(child, child.turns[1]) == ["user:look", "assistant:Grep", "tool:hit"]
    assert said(parent, parent.turns[1]) == ["user:go", "assistant:Task", "tool:found"]
    assert parent.head != child.head


def test_stream_json_ties_a_sub_agent_by_its_call_and_has_no_times() -> None:
    def row(kind: str, message: dict[str, object], parent: str | None = None) -> dict[str, object]:
        return {"type": kind, "message": message, "parent_tool_use_id": parent, "session_id": "S"}

    def made(mid: str, *blocks: object) -> dict[str, object]:
        return {"id": mid, "role": "assistant", "model": _MODEL, "content": list(blocks)}

    log = ReadLog()
    parent, child = read(
        "claude-code",
        lines(
            {"type": "system", "subtype": "init", "session_id": "S", "tools": ["Task"]},
            row("assistant", made("m1", call("t", "Task", prompt="look"))),
            row("user", {"role": "user", "content": "look"}, "t"),
            row("assistant", made("n1", text("seen")), "t"),
            row("user", {"role": "user", "content": [result("t", "seen")]}),
            row("assistant", made("m2", text("ok"))),
            {"type": "result", "subtype": "success", "session_id": "S", "num_turns": 2},
        ),
        log,
    )
    assert [turn.id for turn in parent.turns] == ["m1", "m2"]
    assert child.parent == SpawnLink(session_id="S", turn_id="m1")
    assert parent.turns[0].final.times is None


def test_stream_events_give_the_counts_that_rows_written_before_the_end_lack() -> None:
    message = {"id": "m1", "role": "assistant", "model": _MODEL, "usage": {"input_tokens": 9, "output_tokens": 1}}
    streamed = [
        {"type": "message_start", "message": {**message, "content": []}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "ok"}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 44}},
    ]
    events = [{"type": "stream_event", "event": e, "session_id": "S", "uuid": f"e{n}"} for n, e in enumerate(streamed)]
    spoken = {"type": "assistant", "message": {**message, "content": [text("ok")]}, "session_id": "S", "uuid": "u"}
    log = ReadLog()
    (session,) = read("claude-code", lines(*events[:2], spoken, events[2]), log)
    (turn,) = session.turns
    assert turn.final.output == (TextBlock(text="ok"),)
    assert turn.final.usage == Usage(input_tokens=9, output_tokens=44)
    assert turn.final.finish_reason == "end_turn"
    assert log.duplicates.total() == 3
    assert not log.omitted


def test_a_web_export_is_read_like_the_file() -> None:
    rows = [{key: value for key, value in row.items() if key != "parentUuid"} for row in _PARALLEL]
    (exported,) = read("claude-code", json.dumps({"loglines": rows}).encode(), name="export.json")
    assert [turn.final.output for turn in exported.turns] == [turn.final.output for turn in one(*_PARALLEL).turns]


def test_a_message_made_up_by_the_client_is_no_call() -> None:
    made_up = reply("e", "u1", 1, "x", text("API Error"))
    message = made_up["message"]
    assert isinstance(message, dict)
    message["model"] = "<synthetic>"
    log = ReadLog()
    session = one(user("u1", None, 0, "q"), made_up, reply("a", "e", 2, "m", text("a")), log=log)
    assert [turn.id for turn in session.turns] == ["m"]
    assert sum(log.omitted.values()) == 1


def test_lines_that_are_no_rows_are_named_or_counted() -> None:
    data = lines(*_PARALLEL, 42, [1], "text", {"silly": 1}) + b'\n{"type": "assis'
    with pytest.raises(TraceError, match=r"trace\.jsonl:8: "):
        read_only("claude-code", data)
    log = ReadLog(skip_invalid=True)
    (session,) = read("claude-code", data, log)
    assert len(session.turns) == 2
    assert log.omitted["line that is not valid JSON"] == 1
    assert log.omitted["line that is no JSON object"] == 3


def test_a_result_dated_before_its_call_has_no_wait() -> None:
    log = ReadLog()
    session = one(
        user("u", None, 0, "q"), reply("a", "u", 5, "m", call("c")), user("r", "a", 4, [result("c", "x")]), log=log
    )
    assert session.turns[0].tool_waits[0].duration_s is None
    assert any("before its cause" in text for text in log.assumptions)
