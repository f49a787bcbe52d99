from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.traces.strategies import sessions
from traces.lengths import length_turn, single
from traces.model import (
    Attempt,
    LengthPrompt,
    Message,
    MessagePrompt,
    OpaqueBlock,
    ReasoningBlock,
    Session,
    SpawnLink,
    TextBlock,
    Times,
    ToolCallBlock,
    ToolSpec,
    ToolWait,
    Turn,
    Usage,
    Verdict,
)
from traces.readlog import ReadLog
from traces.summary import summarise


def _say(role: str, text: str) -> Message:
    return Message(role=role, blocks=(TextBlock(text=text),))


def _loop(name: str = "s", model: str = "m") -> Session:
    """Two turns: 10 characters of prompt, then the same, the reply's 4, and 6 more."""
    answer = Attempt(output=(TextBlock(text="AAAA"),))
    first = Turn(id="a", prompt=MessagePrompt(ranges=((0, 1),)), attempts=(answer,), model=model)
    second = Turn(id="b", prompt=MessagePrompt(ranges=((0, 3),)), attempts=(answer,), model=model, parent="a")
    messages = (_say("user", "U" * 10), _say("assistant", "AAAA"), _say("user", "V" * 6))
    return Session(id=name, turns=(first, second), messages=messages)


def test_a_prompt_reuses_the_earlier_prompt_and_the_reply_to_it() -> None:
    assert summarise([_loop()], ReadLog()).prefix_reuse.of_characters == pytest.approx(14 / 30)


def test_a_second_session_reuses_what_it_shares_unless_model_tools_or_head_differ() -> None:
    assert summarise([_loop("s"), _loop("t")], ReadLog()).prefix_reuse.of_characters == pytest.approx(44 / 60)
    tool = ToolSpec(name="f")
    for other in (_loop("t", model="n"), msgspec.structs.replace(_loop("t"), tools=(tool,))):
        share = summarise([_loop("s"), other], ReadLog()).prefix_reuse.of_characters
        assert share is not None
        assert share < 30 / 60


def test_a_changed_first_message_ends_the_reuse() -> None:
    changed = msgspec.structs.replace(
        _loop("t"), messages=(_say("user", "W" * 10), _say("assistant", "AAAA"), _say("user", "V" * 6))
    )
    assert summarise([_loop(), changed], ReadLog()).prefix_reuse.of_characters == pytest.approx(28 / 60)


def _lengths(name: str, tokens: int, *ids: int) -> Session:
    prompt = LengthPrompt(tokens=tokens, block_tokens=512, block_ids=ids)
    return single(name, length_turn("t", prompt, 5, times=Times(sent_s=float(tokens))), float(tokens))


def test_block_ids_are_weighed_by_the_tokens_they_hold() -> None:
    summary = summarise([_lengths("a", 1100, 1, 2, 3), _lengths("b", 1100, 1, 2, 9)], ReadLog())
    assert summary.prefix_reuse.of_tokens == pytest.approx(1024 / 2200)
    same = summarise([_lengths("a", 1100, 1, 2, 3), _lengths("b", 1100, 1, 2, 3)], ReadLog())
    assert same.prefix_reuse.of_tokens == pytest.approx(0.5)
    assert same.turns_with_lengths_only == 2
    assert same.prefix_reuse.of_characters is None


def test_counts_coverage_and_what_is_missing() -> None:
    call = ToolCallBlock(name="f", arguments="{}")
    attempts = (
        Attempt(output=(call,), usage=Usage(input_tokens=10, output_tokens=4), verdict=Verdict.REJECTED),
        Attempt(
            output=(ReasoningBlock(tokens=3), call, call),
            usage=Usage(input_tokens=10, cached_tokens=6, output_tokens=9, reasoning_tokens=3),
            times=Times(sent_s=5.0, end_s=8.0),
        ),
    )
    waits = (ToolWait(name="f", duration_s=1.0), ToolWait(name="f"))
    first = Turn(id="a", prompt=MessagePrompt(ranges=()), attempts=attempts, tool_waits=waits, model="m")
    second = Turn(id="b", prompt=MessagePrompt(ranges=()), attempts=(Attempt(output=()),), parent="a")
    child = Session(id="c", turns=(second,), parent=SpawnLink(session_id="s"), start_s=2.0)
    log = ReadLog()
    log.omit("voice")
    summary = summarise([Session(id="s", turns=(first, msgspec.structs.replace(second))), child], log)
    assert (summary.sessions, summary.sub_agents, summary.turns, summary.attempts) == (2, 1, 3, 4)
    assert summary.rejected_attempts == 1
    assert summary.tool_calls_by_name == {"f": 3}
    assert summary.turns_by_model == {"not recorded": 2, "m": 1}
    assert (summary.turns_with_text, summary.turns_without_output, summary.hidden_reasoning_turns) == (1, 2, 1)
    assert summary.recorded_tokens.output_tokens == 13
    assert summary.usage_coverage.cached_tokens == pytest.approx(1 / 3)
    assert summary.time_coverage.tool_waits == 0.5
    assert (summary.first_s, summary.last_s, summary.span_s) == (2.0, 8.0, 6.0)
    assert summary.missing["turns without recorded output tokens"] == 2
    assert summary.missing["tool waits without a duration"] == 1
    assert summary.omitted == {"voice": 1}


def test_growth_of_recorded_prompts() -> None:
    turns = [
        length_turn(f"t{number}", LengthPrompt(tokens=tokens), 5)
        for number, tokens in enumerate((100, 150, 400), start=1)
    ]
    growth = summarise([Session(id="s", turns=tuple(turns))], ReadLog()).prompt_growth
    assert (growth.sessions, growth.mean_first_tokens, growth.mean_last_tokens) == (1, 100, 400)
    assert growth.mean_added_tokens_per_turn == 150


def test_an_empty_trace_has_no_shares() -> None:
    summary = summarise([], ReadLog())
    assert summary.turns == 0
    assert summary.usage_coverage.output_tokens is None
    assert summary.span_s is None


def test_sessions_are_taken_one_by_one() -> None:
    alive: list[Session] = []

    def lazily() -> Iterator[Session]:
        for number in range(3):
            session = _lengths(f"s{number}", 600, number, 7)
            alive.append(session)
            yield session

    assert summarise(lazily(), ReadLog()).sessions == len(alive) == 3


@given(found=st.lists(sessions(), max_size=3))
@settings(max_examples=30, deadline=None)
def test_any_trace_is_summed_up_in_numbers(found: list[Session]) -> None:
    named = [msgspec.structs.replace(session, id=str(number)) for number, session in enumerate(found)]
    summary = summarise(named, ReadLog())
    assert summary.turns == sum(len(session.turns) for session in named)
    assert summary.turns == summary.turns_with_text + summary.turns_with_lengths_only + summary.turns_without_output
    for share in (summary.prefix_reuse.of_characters, summary.prefix_reuse.of_tokens):
        assert share is None or 0 <= share <= 1
    assert msgspec.json.decode(msgspec.json.encode(summary), type=type(summary)) == summary


def test_opaque_messages_weigh_by_their_tokens() -> None:
    block = OpaqueBlock(tokens=25, key="k")
    message = Message(role="user", blocks=(block,))
    turn = Turn(id="a", prompt=MessagePrompt(ranges=((0, 1),)), attempts=(Attempt(output=()),))
    pair = [Session(id=name, turns=(turn,), messages=(message,)) for name in "ab"]
    assert summarise(pair, ReadLog()).prefix_reuse.of_characters == 0.5
