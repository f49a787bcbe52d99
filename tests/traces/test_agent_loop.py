from __future__ import annotations

import json
import re
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from benchmarks.make_agent_loop import make
from tests.shared import AGENT_LOOP
from tokenclass.layout import Layout
from tokenclass.tagger import tag_session
from tokenclass.tokenizers import load_tokenizer
from traces.model import (
    Attempt,
    ReasoningBlock,
    Session,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    Turn,
    Verdict,
    prompt_messages,
)
from traces.readers.canonical import READER
from traces.readlog import ReadLog
from traces.source import find_files

PAGE = Path(__file__).resolve().parents[2] / "docs" / "sample.md"


@cache
def _sessions() -> dict[str, Session]:
    return {session.id: session for session in READER.read(find_files([str(AGENT_LOOP)]), ReadLog())}


def _turns() -> list[tuple[Session, Turn]]:
    return [(session, turn) for session in _sessions().values() for turn in session.turns]


def _calls(attempt: Attempt) -> list[ToolCallBlock]:
    return [block for block in attempt.output if isinstance(block, ToolCallBlock)]


def _span(attempt: Attempt) -> tuple[float, float, float]:
    times = attempt.times
    assert times is not None
    assert times.sent_s is not None
    assert times.first_token_s is not None
    assert times.end_s is not None
    return times.sent_s, times.first_token_s, times.end_s


def _fault(session: Session, call: ToolCallBlock) -> str | None:
    """Why the arguments of *call* do not fit the tool's schema; None when they do."""
    tool = next(tool for tool in session.tools if tool.name == call.name)
    try:
        arguments = json.loads(call.arguments)
    except json.JSONDecodeError as error:
        return f"no JSON: {error}"
    return next((error.message for error in Draft202012Validator(tool.parameters).iter_errors(arguments)), None)


def test_the_file_is_what_the_script_makes(tmp_path: Path) -> None:
    made = tmp_path / AGENT_LOOP.name
    make(made)
    assert made.read_bytes() == AGENT_LOOP.read_bytes()


def test_counts_are_those_of_the_documentation() -> None:
    turns = _turns()
    finals = [turn.final for _, turn in turns]
    drawn = [attempt for _, turn in turns for attempt in turn.attempts]
    counts = {
        "sessions": len(_sessions()),
        "spawned by a turn of another session": sum(s.parent is not None for s in _sessions().values()),
        "turns": len(turns),
        "turns with reasoning": sum(any(isinstance(b, ReasoningBlock) for b in f.output) for f in finals),
        "turns with one call": sum(len(_calls(f)) == 1 for f in finals),
        "turns with parallel calls": sum(len(_calls(f)) > 1 for f in finals),
        "rejected attempts": sum(attempt.verdict is Verdict.REJECTED for attempt in drawn),
        "tools": len({call.name for attempt in drawn for call in _calls(attempt)}),
        "output tokens": sum(attempt.usage.output_tokens or 0 for attempt in drawn if attempt.usage),
    }
    rows = re.findall(r"^\| ([a-z][a-z ]+) \| ([\d,]+) \|$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert {name: int(count.replace(",", "")) for name, count in rows} == counts
    assert counts["sessions"] >= 8
    assert counts["turns"] >= 80


def test_all_sessions_share_the_head_and_use_each_tool() -> None:
    sessions = list(_sessions().values())
    assert len({(session.messages[0], str(session.tools)) for session in sessions}) == 1
    assert all(session.messages[0].role == "system" for session in sessions)
    used = Counter(call.name for _, turn in _turns() for call in _calls(turn.final))
    assert set(used) == {tool.name for tool in sessions[0].tools}
    for tool in sessions[0].tools:
        Draft202012Validator.check_schema(tool.parameters)


def test_accepted_arguments_fit_their_schema_and_some_rejected_ones_do_not() -> None:
    accepted, rejected = [], []
    for session, turn in _turns():
        for attempt in turn.attempts:
            faults = [_fault(session, call) for call in _calls(attempt)]
            (accepted if attempt.verdict is Verdict.ACCEPTED else rejected).extend(faults)
    assert [fault for fault in accepted if fault] == []
    assert any(fault and fault.startswith("no JSON") for fault in rejected)
    assert any(fault and not fault.startswith("no JSON") for fault in rejected)
    assert None in rejected


def test_only_the_last_attempt_is_accepted() -> None:
    for _, turn in _turns():
        verdicts = [attempt.verdict for attempt in turn.attempts]
        assert verdicts == [Verdict.REJECTED] * (len(verdicts) - 1) + [Verdict.ACCEPTED]


@pytest.mark.parametrize("session_id", _sessions())
def test_a_prompt_is_the_one_before_it_with_the_output_and_the_result_of_each_call(session_id: str) -> None:
    session = _sessions()[session_id]
    for before, after in pairwise(session.turns):
        told = list(prompt_messages(session, before))
        added = list(prompt_messages(session, after))
        assert added[: len(told)] == told
        spoken, *results = added[len(told) :]
        assert spoken.role == "assistant"
        assert spoken.blocks == before.final.output
        answers = [block for message in results for block in message.blocks]
        assert all(isinstance(block, ToolResultBlock) and block.text for block in answers)
        calls = [(call.name, call.call_id) for call in _calls(before.final)]
        assert [(m.name, b.call_id) for m, b in zip(results, answers, strict=True)] == calls
        assert [(wait.name, wait.call_id) for wait in before.tool_waits] == calls
    ids = [call.call_id for turn in session.turns for attempt in turn.attempts for call in _calls(attempt)]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("session_id", _sessions())
def test_a_session_ends_with_a_report_in_prose(session_id: str) -> None:
    last = _sessions()[session_id].turns[-1]
    assert [type(block) for block in last.final.output] == [TextBlock]
    assert last.final.finish_reason == "stop"
    assert not last.tool_waits


@pytest.mark.parametrize("session_id", _sessions())
def test_time_runs_forward(session_id: str) -> None:
    session = _sessions()[session_id]
    assert session.start_s == _span(session.turns[0].attempts[0])[0]
    for turn in session.turns:
        for attempt in turn.attempts:
            sent, first, end = _span(attempt)
            assert sent < first < end
        for draw, redraw in pairwise(turn.attempts):
            assert _span(redraw)[0] > _span(draw)[2]
    for before, after in pairwise(session.turns):
        assert after.parent == before.id
        slowest = max(wait.duration_s or 0.0 for wait in before.tool_waits)
        assert _span(after.attempts[0])[0] >= _span(before.final)[2] + slowest


def test_a_spawned_session_runs_inside_the_wait_of_its_turn() -> None:
    children = [session for session in _sessions().values() if session.parent is not None]
    assert children
    for child in children:
        assert child.parent is not None
        parent = _sessions()[child.parent.session_id]
        index = next(i for i, turn in enumerate(parent.turns) if turn.id == child.parent.turn_id)
        turn, after = parent.turns[index : index + 2]
        assert _span(turn.final)[2] < (child.start_s or 0.0)
        assert _span(child.turns[-1].final)[2] < _span(after.attempts[0])[0]
        (report,) = [block.text for block in child.turns[-1].final.output if isinstance(block, TextBlock)]
        answers = [b.text for m in prompt_messages(parent, after) for b in m.blocks if isinstance(b, ToolResultBlock)]
        assert report in answers


@pytest.mark.parametrize("session_id", _sessions())
def test_usage_is_what_the_tagger_counts_for_qwen3(session_id: str) -> None:
    session = _sessions()[session_id]
    tagged = tag_session(session, load_tokenizer("qwen3"), Layout.named("hermes"))
    for turn, counted in zip(session.turns, tagged.turns, strict=True):
        prompt = tagged.prompt_ids(counted)
        assert prompt is not None
        for attempt, labelled in zip(turn.attempts, counted.attempts, strict=True):
            usage = attempt.usage
            assert usage is not None
            assert usage.input_tokens == len(prompt)
            assert usage.output_tokens == labelled.labels.n_tokens
            assert usage.reasoning_tokens == labelled.labels.class_tokens()[1]


def test_cached_tokens_are_whole_blocks_of_what_was_sent_or_said_before() -> None:
    for session in _sessions().values():
        held = None
        for turn in session.turns:
            for attempt in turn.attempts:
                usage = attempt.usage
                assert usage is not None
                assert usage.input_tokens is not None
                assert usage.output_tokens is not None
                assert usage.cached_tokens is not None
                assert usage.cached_tokens % 16 == 0
                assert usage.cached_tokens < usage.input_tokens
                assert held is None or held - 16 < usage.cached_tokens <= held
                held = usage.input_tokens - 1
            held = usage.input_tokens + usage.output_tokens - 1


@pytest.mark.parametrize("text", ["```", "--- a/", "\nselect ", "def ", "#!/usr/bin/env bash", "인증번호", "📦", '\\"'])
def test_arguments_carry_code_and_text_beyond_ascii(text: str) -> None:
    arguments = [call.arguments for _, turn in _turns() for call in _calls(turn.final)]
    decoded = [value for value in map(json.loads, arguments) if isinstance(value, dict)]
    strings = [value for fields in decoded for value in fields.values() if isinstance(value, str)]
    assert any(text in string for string in strings)
