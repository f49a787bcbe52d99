from __future__ import annotations

import pytest

from traces.conversation import Conversation
from traces.model import ReasoningBlock, TextBlock, Times, ToolCallBlock, Usage
from traces.readlog import ReadLog


def _said(text: str) -> tuple[TextBlock, ...]:
    return (TextBlock(text=text),)


def test_a_tool_wait_is_the_time_from_call_to_result() -> None:
    talk = Conversation("s", ReadLog())
    talk.say("user", _said("go"), 1.0)
    calls = (ToolCallBlock(name="a", call_id="1"), ToolCallBlock(name="b", call_id="2"))
    talk.reply(calls, times=Times(end_s=2.0))
    talk.result("late", "2", at_s=7.5)
    talk.result("soon", "1", at_s=3.0)
    session = talk.session()
    assert session is not None
    assert [(wait.name, wait.duration_s) for wait in session.turns[0].tool_waits] == [("a", 1.0), ("b", 5.5)]
    assert session.start_s == 1.0


def test_a_person_s_pause_ends_with_the_last_message_before_the_reply() -> None:
    talk = Conversation("s", ReadLog())
    talk.reply(_said("hello"), times=Times(end_s=10.0))
    talk.say("user", _said("one"), 12.0)
    talk.say("user", _said("two"), 15.0)
    talk.reply(_said("yes"))
    session = talk.session()
    assert session is not None
    assert session.turns[0].user_wait_s == 5.0
    assert session.turns[1].parent == session.turns[0].id


def test_results_dated_before_their_calls_have_no_duration() -> None:
    log = ReadLog()
    talk = Conversation("s", log)
    talk.reply((ToolCallBlock(name="a", call_id="1"),), times=Times(end_s=10.0))
    talk.result("odd", "1", at_s=4.0)
    session = talk.session()
    assert session is not None
    assert session.turns[0].tool_waits[0].duration_s is None
    assert sum(log.assumptions.values()) == 1


def test_reasoning_known_from_the_usage_alone_comes_first() -> None:
    talk = Conversation("s", ReadLog())
    talk.reply(_said("x"), usage=Usage(input_tokens=5, output_tokens=40, reasoning_tokens=30))
    talk.reply((ReasoningBlock(), *_said("y")), usage=Usage(output_tokens=9, reasoning_tokens=4))
    session = talk.session()
    assert session is not None
    first, second = (turn.final.output[0] for turn in session.turns)
    assert first == ReasoningBlock(tokens=30)
    assert second == ReasoningBlock(tokens=4)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (Usage(input_tokens=0, output_tokens=0), None),
        (Usage(input_tokens=5, cached_tokens=9, output_tokens=3), Usage(input_tokens=5, output_tokens=3)),
        (Usage(input_tokens=5, output_tokens=3, reasoning_tokens=4), Usage(input_tokens=5, output_tokens=3)),
    ],
)
def test_contradicting_counts_are_not_recorded(given: Usage, kept: Usage | None) -> None:
    log = ReadLog()
    talk = Conversation("s", log)
    talk.reply(_said("x"), usage=given)
    session = talk.session()
    assert session is not None
    assert session.turns[0].final.usage == kept
    assert log.assumptions


def test_repeated_turn_ids_are_told_apart_and_a_silent_session_is_none() -> None:
    talk = Conversation("s", ReadLog())
    assert talk.session() is None
    for _ in range(3):
        talk.reply(_said("x"), turn_id="same")
    session = talk.session()
    assert session is not None
    assert len({turn.id for turn in session.turns}) == 3
