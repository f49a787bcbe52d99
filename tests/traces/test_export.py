from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.traces.strategies import sessions
from tests.traces.test_claude_code import _PARALLEL, lines
from tests.traces.test_openai_chat import _lines, _rows
from traces.export import EXPORTS, write_agentic_mooncake, write_mooncake, write_openai_chat
from traces.lengths import length_turn, single
from traces.model import (
    Attempt,
    HiddenHead,
    LengthPrompt,
    MessagePrompt,
    ReasoningBlock,
    Session,
    SpawnLink,
    TextBlock,
    Times,
    ToolCallBlock,
    ToolWait,
    Turn,
    Usage,
    Verdict,
    prompt_messages,
)
from traces.readlog import ReadLog
from traces.registry import read_sessions, reader_named
from traces.source import SourceFile
from traces.summary import summarise


def _read(path: Path) -> list[Session]:
    return list(read_sessions([str(path)], ReadLog()))


def _chat() -> Session:
    timed = [{**row, "timestamp": 1767225600 + 10 * n, "latency_ms": 4000} for n, row in enumerate(_rows())]
    (session,) = reader_named("openai-chat").read([SourceFile(None, "x.jsonl", _lines(*timed))], ReadLog())
    return session


def _lone(name: str, at_s: float, *ids: int) -> Session:
    prompt = LengthPrompt(tokens=512 * len(ids), block_tokens=512, block_ids=ids)
    return single(name, length_turn("t", prompt, 5, times=Times(sent_s=at_s)), at_s)


def test_mooncake_rows_come_back_as_they_were(tmp_path: Path) -> None:
    given_sessions = [_lone("a", 1000.0, 1, 2), _lone("b", 1001.5, 1, (1 << 64) - 1)]
    assert write_mooncake(given_sessions, tmp_path / "m.jsonl", ReadLog()) == 2
    back = _read(tmp_path / "m.jsonl")
    assert [s.turns[0].prompt for s in back] == [s.turns[0].prompt for s in given_sessions]
    assert [s.start_s for s in back] == [0.0, 1.5]


@pytest.mark.parametrize("write", [write_mooncake, write_agentic_mooncake])
def test_text_sessions_keep_lengths_order_waits_and_most_of_their_shared_prefix(tmp_path: Path, write: object) -> None:
    session = _chat()
    usages = [Usage(input_tokens=6000, output_tokens=30), Usage(input_tokens=6100, output_tokens=30)]
    turns = tuple(
        replace(turn, attempts=(replace(turn.final, usage=usage),))
        for turn, usage in zip(session.turns, usages, strict=True)
    )
    session = replace(session, turns=turns, head=HiddenHead(key="h"))
    log = ReadLog()
    assert write([session], tmp_path / "m.jsonl", log) == 2  # type: ignore[operator]
    (back,) = _read(tmp_path / "m.jsonl")
    assert [turn.final.usage for turn in back.turns] == usages
    waits = [back.turns[0].user_wait_s, *(wait.duration_s for wait in back.turns[0].tool_waits)]
    assert [wait for wait in waits if wait is not None] == [pytest.approx(6.0)]
    share = summarise([back], ReadLog()).prefix_reuse.of_tokens
    assert share is not None
    assert 5000 / 12100 < share < 0.5
    assert sum(log.assumptions.values()) == 2


def test_agentic_rows_name_what_they_wait_for_and_what_they_start(tmp_path: Path) -> None:
    parent = _lone("p", 5.0, 1)
    turns = (parent.turns[0], replace(parent.turns[0], id="u", parent="t"))
    turns = (replace(turns[0], tool_waits=(ToolWait(name="f", duration_s=2.0),)), turns[1])
    child = replace(_lone("c", 6.0, 3), parent=SpawnLink(session_id="p", turn_id="t"))
    write_agentic_mooncake([replace(parent, turns=turns), child], tmp_path / "a.jsonl", ReadLog())
    rows = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert [row["wait_for"] for row in rows] == [[], ["p/t"], ["p/t"]]
    assert rows[0]["branches"] == ["c/t"]
    assert rows[1]["tool_wait_ms"] == 2000
    assert [row.get("timestamp") for row in rows] == [0, None, None]
    assert [s.id for s in _read(tmp_path / "a.jsonl")] == ["p", "c"]


def test_chat_rows_read_back_give_the_same_calls(tmp_path: Path) -> None:
    (coded,) = reader_named("claude-code").read([SourceFile(None, "x.jsonl", lines(*_PARALLEL))], ReadLog())
    for session in (_chat(), coded):
        write_openai_chat([session], tmp_path / "c.jsonl", ReadLog())
        (back,) = _read(tmp_path / "c.jsonl")
        assert [turn.final.output for turn in back.turns] == [turn.final.output for turn in session.turns]
        assert [turn.final.usage for turn in back.turns] == [turn.final.usage for turn in session.turns]
        assert back.tools == session.tools
        assert list(prompt_messages(back, back.turns[-1])) == list(prompt_messages(session, session.turns[-1]))
        assert back.turns[0].final.times == session.turns[0].final.times


def test_chat_rows_keep_attempts_free_form_calls_and_reasoning(tmp_path: Path) -> None:
    call = ToolCallBlock(name="patch", arguments="*** Begin", call_id="c", free_form=True)
    attempts = (
        Attempt(output=(TextBlock(text="no"),), verdict=Verdict.REJECTED),
        Attempt(output=(ReasoningBlock(text="hm"), TextBlock(text="yes"), call)),
    )
    message = replace(_chat().messages[0])
    turn = Turn(id="t", prompt=MessagePrompt(ranges=((0, 1),)), attempts=attempts)
    write_openai_chat([Session(id="s", turns=(turn,), messages=(message,))], tmp_path / "c.jsonl", ReadLog())
    (back,) = _read(tmp_path / "c.jsonl")
    assert back.turns[0].attempts == attempts


@pytest.mark.parametrize(("name", "left_out"), [("mooncake", 2), ("agentic-mooncake", 2), ("openai-chat", 1)])
def test_turns_that_a_format_cannot_hold_are_counted(tmp_path: Path, name: str, left_out: int) -> None:
    bare = replace(_chat(), turns=tuple(replace(t, attempts=(replace(t.final, usage=None),)) for t in _chat().turns))
    mixed = [bare] if name != "openai-chat" else [_lone("a", 0.0, 1)]
    log = ReadLog()
    assert EXPORTS[name](mixed, tmp_path / "x.jsonl", log) == 0
    assert log.omitted.total() == left_out


@pytest.mark.parametrize("name", EXPORTS)
@given(found=st.lists(sessions(), max_size=2))
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_export_counts_each_turn_as_written_or_left_out(tmp_path: Path, name: str, found: list[Session]) -> None:
    named = [replace(session, id=str(number), parent=None) for number, session in enumerate(found)]
    log = ReadLog()
    written = EXPORTS[name](named, tmp_path / "x.jsonl", log)
    assert len((tmp_path / "x.jsonl").read_bytes().splitlines()) == written
    attempts = sum(len(turn.attempts) for session in named for turn in session.turns)
    turns = sum(len(session.turns) for session in named)
    if name == "openai-chat":
        assert turns <= written + log.omitted.total() <= attempts
    else:
        assert written + log.omitted.total() == turns


def test_delta_sessions_exported_whole_share_their_history(tmp_path: Path) -> None:
    rows = [{"session_id": "s", "input_length": 2048, "output_length": 512} for _ in range(3)]
    file = SourceFile(None, "x.jsonl", _lines(*rows))
    (session,) = reader_named("mooncake-delta").read([file], ReadLog())
    write_mooncake([session], tmp_path / "m.jsonl", ReadLog())
    share = summarise(_read(tmp_path / "m.jsonl"), ReadLog()).prefix_reuse.of_tokens
    # Prompts of 2048, 4608 and 7168 tokens; the second repeats the first and the reply, so does the third.
    assert share == pytest.approx((2048 + 4608) / (2048 + 4608 + 7168), abs=0.08)
