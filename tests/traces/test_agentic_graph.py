"""Agentic Mooncake: which request follows which, whatever the rows wait for, and where the rows lie meanwhile."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.traces.reading import read_only
from traces import heldrows
from traces.errors import TraceError
from traces.lengths import first_id
from traces.model import LengthPrompt, Session, SpawnLink, ToolWait
from traces.readers import agentic_mooncake
from traces.readlog import ReadLog

MISSING = "request that waits for a missing or later one: starts at its own time"
RELEASED = "request released by the start of another one: follows its end"
JOINED = "wait for a request of another session: a tool run of unrecorded length"
HEADER = {"schema": "dynamo.agentic_mooncake", "version": 2}


def row(name: str, session: str = "s", *waits: str, **more: object) -> dict[str, object]:
    lengths = {"input_length": 100, "output_length": 10}
    return {"request_id": name, "session_id": session, **lengths, **({"wait_for": waits} if waits else {}), **more}


def after(name: str, delay_ms: float = 0.0, trigger: str = "completion", relation: str = "sequence") -> object:
    return {"request_id": name, "delay_ms": delay_ms, "trigger": trigger, "relation": relation}


def read(*rows: dict[str, object], log: ReadLog | None = None) -> list[Session]:
    return read_only("agentic-mooncake", "\n".join(map(json.dumps, rows)), log)


def shape(sessions: list[Session]) -> list[tuple[str, list[tuple[str, str | None]]]]:
    return [(session.id, [(turn.id, turn.parent) for turn in session.turns]) for session in sessions]


def test_a_request_follows_the_last_one_of_its_session_that_it_waits_for() -> None:
    found = read(row("a"), row("b", "s", "a"), row("c"), row("d", "s", "c", "b", "a"), row("e", "s", "a"))
    assert shape(found) == [("s", [("a", None), ("b", "a"), ("e", "a")]), ("s#2", [("c", None), ("d", "c")])]


def test_waits_for_missing_later_and_own_requests_are_none() -> None:
    log = ReadLog()
    rows = [
        row("a", "s", "a"),
        row("b", "s", "c"),
        row("c", "s", "b", "nobody"),
        row("d", "s", "nobody", timestamp=5e3),
    ]
    assert shape(read(*rows, log=log)) == [
        ("s", [("a", None)]),
        ("s#2", [("b", None), ("c", "b")]),
        ("s#3", [("d", None)]),
    ]
    assert read(*rows)[2].start_s == 5.0
    assert log.assumptions == {MISSING: 4}


def test_the_first_of_equal_requests_counts() -> None:
    rows = [row("a"), row("b"), row("a", "t", timestamp=7.0), row("c", "s", "a")]
    with pytest.raises(TraceError, match=r"trace\.jsonl:3: request_id 'a' is there twice"):
        read(*rows)
    log = ReadLog(skip_invalid=True)
    assert shape(read(*rows, log=log)) == [("s", [("a", None), ("c", "a")]), ("s#2", [("b", None)])]
    assert log.omitted == {"request_id that was there before": 1}


def test_a_row_that_does_not_fit_leaves_its_name_to_a_later_one() -> None:
    header = {**HEADER, "block_size": 64}
    rows = [header, row("a", hash_ids=[1]), row("b", "s", "a"), row("a", hash_ids=[1, 2, 3]), row("a", hash_ids=[1, 2])]
    rows += [row("a", hash_ids=[5, 6, 7]), row("c", "s", "a")]
    rows[1] = row("a", hash_ids=[1, 2, 3])
    rows[3] = row("x", "t")
    with pytest.raises(TraceError, match=r"trace\.jsonl:2: 3 block ids of 64 tokens do not fit 100 input tokens"):
        read(*rows)
    log = ReadLog(skip_invalid=True)
    found = read(*rows, log=log)
    assert shape(found) == [("s", [("b", None)]), ("t", [("x", None)]), ("s#2", [("a", None), ("c", "a")])]
    assert log.omitted == {"block ids that do not fit the length": 1, "request_id that was there before": 1}
    assert log.assumptions == {MISSING: 1}


def test_sub_agents_start_from_the_request_that_spawned_them() -> None:
    rows = [row("a"), row("b", "s", "a"), row("k", "kid", "a", "b"), row("l", "kid2", timestamp=9.0)]
    rows[3]["dependencies"] = [after("a"), after("b", relation="spawn"), after("k", relation="spawn")]
    kid, other = read(*rows)[1:]
    assert (kid.parent, other.parent) == (SpawnLink("s", "b"), SpawnLink("s", "b"))
    assert (other.start_s, other.turns[0].final.times) == (0.009, None)
    again = [row("a"), row("b"), row("c", "kid", "b")]
    assert read(*again)[2].parent == SpawnLink("s#2", "b")


def test_waits_are_noted_on_the_request_that_is_followed() -> None:
    log = ReadLog()
    first = row("b", "s", "a", delay=500.0, tool_wait_ms=1000.0, tool_events=[{"tool_class": "Bash"}])
    rows = [row("a"), row("k", "kid", "a"), first, row("c", "s", "a", delay=300.0)]
    rows.append(row("d", "s", dependencies=[after("k"), after("a", 900.0, "dispatch"), after("a", 2.0)]))
    kept, _ = read(*rows, log=log)
    assert kept.turns[0].tool_waits == (ToolWait("Bash", 1.5), ToolWait("sub-agent", None, "k"))
    assert kept.turns[0].user_wait_s == 0.9
    assert list(log.assumptions.items()) == [(RELEASED, 1), (JOINED, 1)]


def test_assumptions_come_in_the_order_of_their_causes() -> None:
    log = ReadLog()
    rows = [row("a"), row("k", "kid"), row("b", "s", "a", "k"), row("c", "s", "gone"), row("d", "s", "a", "k", "gone")]
    read(*rows, log=log)
    assert list(log.assumptions.items()) == [(JOINED, 2), (MISSING, 2)]


def test_local_ids_of_single_requests_are_those_of_their_session() -> None:
    found = read({**HEADER, "hash_id_scope": "local"}, row("a", "s", hash_ids=[7]), row("b", "t", hash_ids=["x"]))
    prompts = [session.turns[0].prompt for session in found]
    assert [prompt.block_ids for prompt in prompts if isinstance(prompt, LengthPrompt)] == [
        (first_id("s") + 7,),
        ("t:x",),
    ]


def test_the_last_header_holds_wherever_it_stands() -> None:
    rows = [{**HEADER, "block_size": 512}, row("a", hash_ids=[1, 2]), {**HEADER, "block_size": 64}]
    prompt = read(*rows)[0].turns[0].prompt
    assert isinstance(prompt, LengthPrompt)
    assert prompt.block_tokens == 64


def test_a_file_of_headers_has_no_sessions() -> None:
    assert read(HEADER, HEADER) == []


NAMES = st.sampled_from("abcdef")
ROWS = st.builds(
    lambda name, session, waits, ids, gap: row(name, session, *waits, hash_ids=ids, tool_wait_ms=gap),
    NAMES,
    st.sampled_from("stu"),
    st.lists(NAMES, max_size=3),
    st.sampled_from([[1, 2], ["x", 2], [1, 2**70], []]),
    st.sampled_from([None, 5.0]),
)


@given(st.lists(ROWS, max_size=12), st.integers(1, 300))
@settings(deadline=None)
def test_rows_in_a_file_give_the_sessions_that_rows_in_memory_give(rows: list[dict[str, object]], held: int) -> None:
    whole = read(*rows, log=ReadLog(skip_invalid=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(heldrows, "_HELD_BYTES", held)
        patch.setattr(heldrows, "_MAPPED_READS", 2)
        patch.setattr(heldrows, "_PACKED_AT_A_TIME", 2)
        patch.setattr(agentic_mooncake, "_AT_A_TIME", 2)
        assert read(*rows, log=ReadLog(skip_invalid=True)) == whole
