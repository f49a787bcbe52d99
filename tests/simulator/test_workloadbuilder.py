"""Sessions of lengths, tagged and added many at a time: the same workload as one by one."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.workload import NO_PARENT, Workload
from simulator.workloadbuilder import WorkloadBuilder
from tokenclass import counted
from tokenclass.layout import Layout
from tokenclass.mix import ClassMix
from tokenclass.tagged import TaggedCounts
from tokenclass.tagger import Tagger, TagOptions
from tokenclass.tokenizers import load_tokenizer
from traces.errors import SimtoolError
from traces.model import Attempt, LengthPrompt, OpaqueBlock, Session, SpawnLink, Times, ToolWait, Turn, Verdict

TAGGER = Tagger(
    load_tokenizer("qwen3"), Layout.named("hermes"), TagOptions(class_mix=ClassMix.parse("S=0.3,R=0.2,F=0.5"))
)
SECONDS = st.one_of(st.none(), st.floats(0, 1e6))
TOOLS = st.builds(ToolWait, name=st.sampled_from(["x", "y"]), duration_s=SECONDS)
IDS = st.lists(st.one_of(st.integers(0, 9), st.sampled_from(["a", "b"])), max_size=3).map(tuple)


@st.composite
def prompts(draw: st.DrawFn, ids: bool) -> LengthPrompt:
    blocks = draw(IDS) if ids else ()
    tokens = draw(st.integers(1, 400)) if not blocks else 64 * len(blocks) - draw(st.integers(0, 63))
    return LengthPrompt(tokens=tokens, block_tokens=64 if blocks else None, block_ids=blocks)


@st.composite
def attempts(draw: st.DrawFn) -> tuple[Attempt, ...]:
    label, key = draw(st.sampled_from([(None, None)] * 8 + [("F", None), ("S", None), (None, "equal")]))
    times = draw(st.one_of(st.none(), SECONDS.map(lambda sent_s: Times(sent_s=sent_s))))
    output = (OpaqueBlock(tokens=draw(st.integers(0, 300)), label=label, key=key),) * draw(
        st.sampled_from([1, 1, 1, 2])
    )
    last = Attempt(output=output, times=times)
    rejected = Attempt(output=output, verdict=Verdict.REJECTED)
    return draw(st.sampled_from([(last,)] * 5 + [(rejected, last), (rejected,)]))


@st.composite
def sessions(draw: st.DrawFn) -> list[Session]:
    ids = draw(st.booleans())
    found = []
    for number in range(draw(st.integers(0, 6))):
        turns: list[Turn] = []
        for place in range(draw(st.integers(0, 4))):
            waits = draw(
                st.lists(st.builds(ToolWait, name=st.sampled_from(["x", "y"]), duration_s=SECONDS), max_size=2)
            )
            names = [turn.id for turn in turns]
            turns.append(
                Turn(
                    id=f"t{place}",
                    prompt=draw(prompts(ids)),
                    attempts=draw(attempts()),
                    parent=draw(st.sampled_from([None, *names])),
                    tool_waits=tuple(waits),
                    user_wait_s=draw(SECONDS),
                )
            )
        link = SpawnLink(session_id="s0", turn_id=draw(st.sampled_from([None, "t0", "t9"])))
        parent = draw(st.sampled_from([None, link])) if number else None
        found.append(
            Session(id=f"s{number}", turns=tuple(turns), parent=parent, start_s=draw(SECONDS), reward=draw(SECONDS))
        )
    return found


def singly(recorded: list[Session]) -> tuple[Workload, dict[str, int]]:
    builder = WorkloadBuilder(16)
    assumed: dict[str, int] = {}
    for session in recorded:
        tagged = TAGGER.tag(session)
        for text, count in tagged.assumptions.items():
            assumed[text] = assumed.get(text, 0) + count
        builder.add(tagged)
    return builder.build(), assumed


def together(recorded: list[Session]) -> tuple[Workload, dict[str, int], int]:
    builder = WorkloadBuilder(16)
    assumed: dict[str, int] = {}
    groups = 0
    for tagged in TAGGER.tag_many(recorded):
        for text, count in tagged.assumptions.items():
            assumed[text] = assumed.get(text, 0) + count
        if isinstance(tagged, TaggedCounts):
            groups += 1
            builder.add_counts(tagged)
        else:
            builder.add(tagged)
    return builder.build(), assumed, groups


def written_out(value: Any) -> object:
    """What can be compared of a part of a workload."""
    if isinstance(value, np.ndarray):
        return value.dtype, value.tobytes()
    if hasattr(value, "paths"):
        return value.num_identities, [np.asarray(path).tolist() for path in value.paths]
    if hasattr(value, "duration_s"):
        return value.names, value.tool.tolist(), value.duration_s.tobytes(), value.offsets.tolist()
    return list(value) if value is not None else None


@given(sessions())
def test_many_at_a_time_are_as_one_by_one(recorded: list[Session]) -> None:
    expected, assumed = singly(recorded)
    found, assumed_together, _ = together(recorded)
    assert assumed_together == assumed
    for field in fields(Workload):
        assert written_out(getattr(found, field.name)) == written_out(getattr(expected, field.name)), field.name


def test_sessions_of_lengths_are_added_in_groups_of_a_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    attempt = Attempt(output=(OpaqueBlock(tokens=10),))
    turn = Turn(id="t", prompt=LengthPrompt(tokens=9), attempts=(attempt,))
    recorded = [Session(id=str(number), turns=(turn, turn)) for number in range(20)]
    assert together(recorded)[2] == 1
    monkeypatch.setattr(counted, "_TOGETHER_TURNS", 8)
    assert together(recorded)[2] == 5
    monkeypatch.setattr(counted, "_TOGETHER_NUMBERS", 30)
    assert together(recorded)[2] == 10


def test_a_parent_that_is_no_turn_is_an_error_in_a_group_too() -> None:
    attempt = Attempt(output=(OpaqueBlock(tokens=10),))
    turn = Turn(id="t", prompt=LengthPrompt(tokens=9), attempts=(attempt,), parent="lost")
    with pytest.raises(SimtoolError, match="waits for 'lost', which is no turn"):
        together([Session(id="s", turns=(turn,))])


def test_a_parent_that_comes_later_is_none() -> None:
    attempt = Attempt(output=(OpaqueBlock(tokens=10),))
    prompt = LengthPrompt(tokens=9)
    first = Turn(id="a", prompt=prompt, attempts=(attempt,), parent="b")
    second = Turn(id="b", prompt=prompt, attempts=(attempt,), parent="a")
    recorded = [Session(id="s", turns=(first, second))]
    for workload in (singly(recorded)[0], together(recorded)[0]):
        assert workload.turn_parent.tolist() == [NO_PARENT, 0]
