from __future__ import annotations

import io
import json
import zipfile

import pytest

from tests.traces.agent_files import one, outputs, prompt_texts, read
from traces.errors import TraceError
from traces.model import ReasoningBlock, TextBlock, ToolCallBlock, Usage
from traces.readers import inspect_archive
from traces.readers.inspect_ai import READER
from traces.readlog import ReadLog
from traces.source import SourceFile


def _stamp(second: int) -> str:
    return f"2026-06-01T00:00:{second:02d}+00:00"


def _model(second: int, message: dict[str, object], **more: object) -> dict[str, object]:
    usage = {"input_tokens": 20, "output_tokens": 5, "total_tokens": 55, "input_tokens_cache_read": 30}
    choice = {"message": {"role": "assistant", **message}, "stop_reason": "stop"}
    event = {
        "event": "model",
        "model": "lab/m",
        "timestamp": _stamp(second),
        "completed": _stamp(second + 1),
        "input": [],
        "tools": [{"name": "sh", "description": "attachment://d1", "parameters": {"type": "object"}}],
        "config": {"max_tokens": 64},
        "output": {"choices": [choice], "usage": usage},
    }
    return {**event, **more}


def _log(*events: object, **sample: object) -> dict[str, object]:
    inner = {
        "id": 1,
        "epoch": 1,
        "events": list(events),
        "attachments": {"a1": "the question", "d1": "shell"},
        **sample,
    }
    return {"version": 2, "status": "success", "eval": {"task": "t", "run_id": "run"}, "samples": [inner]}


_USER = {"role": "user", "content": "attachment://a1"}
_CALL = {"id": "c", "function": "sh", "arguments": {"cmd": "ls"}, "type": "function"}
_TOOL = {"role": "tool", "tool_call_id": "c", "function": "sh", "content": "a", "error": None}


def test_attachments_calls_usage_and_tool_times() -> None:
    content = [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "go"}]
    first = _model(1, {"content": content, "tool_calls": [_CALL]}, input=[_USER])
    ran = {"event": "tool", "id": "c", "function": "sh", "timestamp": _stamp(2), "completed": _stamp(6)}
    asked = {"role": "assistant", "content": content, "tool_calls": [_CALL]}
    second = _model(7, {"content": "end"}, input=[_USER, asked, _TOOL])
    session, _ = one(READER, _log(first, ran, second))
    turn = session.turns[0]
    assert outputs(turn) == (
        ReasoningBlock(text="hm"),
        TextBlock(text="go"),
        ToolCallBlock(name="sh", arguments='{"cmd": "ls"}', call_id="c"),
    )
    assert turn.final.usage == Usage(input_tokens=50, cached_tokens=30, output_tokens=5)
    assert turn.tool_waits[0].duration_s == 4.0
    assert (turn.model, turn.max_tokens, turn.final.finish_reason) == ("lab/m", 64, "stop")
    assert prompt_texts(session, turn) == [("user", "the question")]
    assert prompt_texts(session, session.turns[1])[2] == ("tool", "a")
    assert len(session.messages) == 3
    assert session.tools[0].description == "shell"


def test_prompts_from_the_message_pool() -> None:
    pool = [_USER, {"role": "assistant", "content": "x"}, {"role": "user", "content": "y"}]
    events = [
        _model(1, {"content": "x"}, input_refs=[[0, 1]]),
        _model(3, {"content": "z"}, input_refs=[[0, 3], [9, 10]]),
    ]
    session, log = one(READER, _log(*events, message_pool=pool))
    assert [len(prompt_texts(session, turn)) for turn in session.turns] == [1, 3]
    assert log.assumptions


def test_scorers_cached_replies_and_failures_are_left_out() -> None:
    spans = [
        {"event": "span_begin", "id": "s1", "type": "scorers"},
        {"event": "span_begin", "id": "s2", "parent_id": "s1", "type": "other"},
    ]
    begin, end = ({"event": "step", "action": action, "type": "scorer"} for action in ("begin", "end"))
    events = [
        *spans,
        _model(1, {"content": "graded"}, span_id="s2"),
        begin,
        _model(2, {"content": "graded"}),
        end,
        _model(3, {"content": "old"}, cache="read"),
        _model(4, {"content": "broken"}, error="overloaded"),
        _model(5, {"content": "kept"}),
    ]
    session, log = one(READER, _log(*events))
    assert [outputs(turn) for turn in session.turns] == [(TextBlock(text="kept"),)]
    assert sorted(log.omitted.values()) == [1, 1, 2]


def test_older_logs_date_the_end_and_keep_their_texts_in_the_transcript() -> None:
    event = _model(1, {"content": "tc://b"}, input=[{"role": "user", "content": "tc://a"}])
    del event["completed"]
    sample = {
        "transcript": {"events": [event], "content": {"a": "in", "b": "out"}},
        "events": None,
        "attachments": None,
    }
    session, _ = one(READER, _log(**sample))
    turn = session.turns[0]
    assert (prompt_texts(session, turn), outputs(turn)) == ([("user", "in")], (TextBlock(text="out"),))
    assert turn.final.times is not None
    assert turn.final.times.sent_s is None


def test_a_sample_in_two_logs_is_read_once() -> None:
    document = _log(_model(1, {"content": "x"}))
    sessions, log = read(READER, document, document)
    assert len(sessions) == 1
    assert sum(log.duplicates.values()) == 1


def _archive(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def _members() -> dict[str, bytes]:
    log = _log(_model(1, {"content": "x"}))
    samples = log.pop("samples")
    assert isinstance(samples, list)
    return {"samples/1_epoch_1.json": json.dumps(samples[0]).encode(), "header.json": json.dumps(log).encode()}


def test_an_archive_reads_like_the_document() -> None:
    packed, _ = one(READER, _archive(_members()))
    plain, _ = one(READER, _log(_model(1, {"content": "x"})))
    assert packed == plain


@pytest.mark.parametrize("name", ["../evil.json", "/etc/x", "samples/..\\x.json", "samples/../../x.json"])
def test_members_that_point_outside_are_refused(name: str) -> None:
    with pytest.raises(TraceError, match="points outside"):
        read(READER, _archive({**_members(), name: b"{}"}))


def test_a_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspect_archive, "MAX_MEMBER_BYTES", 100_000)
    bomb = _archive({**_members(), "samples/2_epoch_1.json": b" " * 10_000_000})
    assert len(bomb) < 100_000
    with pytest.raises(TraceError, match="more than 100000 bytes"):
        read(READER, bomb)


def test_broken_archives_are_trace_errors() -> None:
    whole = _archive(_members())
    for data in (whole[: len(whole) // 2], whole[:60] + b"\x00" * 80 + whole[140:]):
        with pytest.raises(TraceError):
            list(READER.read([SourceFile(None, "x.eval", data)], ReadLog()))
