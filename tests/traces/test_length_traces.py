"""Serving traces in JSON: agentic Mooncake, Applied Compute, Weka, Dynamo, LLMServingSim, and bench summaries."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.traces import samples_serving as samples
from tests.traces.fuzz import JSON_VALUES, broken, survive
from tests.traces.reading import read
from traces.errors import TraceError
from traces.model import LengthPrompt, Session, SpawnLink, ToolWait, Turn
from traces.readlog import ReadLog
from traces.registry import reader_named, sniff
from traces.source import SourceFile


def ids(turn: Turn) -> tuple[int | str, ...]:
    assert isinstance(turn.prompt, LengthPrompt)
    return turn.prompt.block_ids


def by_id(sessions: list[Session]) -> dict[str, Session]:
    return {session.id: session for session in sessions}


def test_agentic_version_1_follows_the_waits() -> None:
    log = ReadLog()
    found = by_id(read("agentic-mooncake", samples.lines(samples.AGENTIC_V1), log))
    a, b = found["a"], found["b"]
    assert [(turn.id, turn.parent) for turn in a.turns] == [("a1", None), ("a2", "a1"), ("a3", "a2")]
    assert a.start_s == 0.5
    # Delay and tool time both pass between the end of a1 and the start of a2.
    assert a.turns[0].tool_waits == (ToolWait(name="Bash", duration_s=1.75),)
    assert a.turns[1].tool_waits == (ToolWait(name="sub-agent", call_id="b1"),)
    assert b.parent == SpawnLink(session_id="a", turn_id="a1")
    assert isinstance(a.turns[0].prompt, LengthPrompt)
    assert a.turns[0].prompt.block_tokens == 512
    assert ids(a.turns[1])[:2] == ids(a.turns[0])


def test_agentic_version_2_reads_header_and_dependencies() -> None:
    (session,) = read("agentic-mooncake", samples.lines(samples.AGENTIC_V2))
    assert session.id == "p/s"
    assert session.start_s == 2.0
    assert [turn.parent for turn in session.turns] == [None, "r1"]
    assert session.turns[0].user_wait_s == 0.7
    assert ids(session.turns[1])[:2] == ids(session.turns[0])
    other = [{**row, "play_id": "q"} if "play_id" in row else row for row in samples.AGENTIC_V2]  # type: ignore[operator,dict-item]
    (elsewhere,) = read("agentic-mooncake", samples.lines(other))
    assert not set(ids(session.turns[1])) & set(ids(elsewhere.turns[1]))
    assert session.turns[1].model == "m"


def test_agentic_rows_that_wait_for_nothing_of_their_session_start_apart() -> None:
    rows = copy.deepcopy(samples.AGENTIC_V1[:2])
    rows[1] = {**rows[1], "wait_for": [], "timestamp": 3000.0}  # type: ignore[dict-item]
    one, two = read("agentic-mooncake", samples.lines(rows))
    assert (one.id, one.start_s, two.id, two.start_s) == ("a", 0.5, "a#2", 3.0)


def test_agentic_rows_with_ids_that_no_block_size_fits() -> None:
    rows = [{**samples.AGENTIC_V1[1], "hash_ids": [1, 2, 3, 4, 5, 6, 7], "input_length": 9}]  # type: ignore[dict-item]
    with pytest.raises(TraceError, match="no block size fits"):
        read("agentic-mooncake", samples.lines(rows))


def test_applied_compute_prompts_grow_by_reply_and_result() -> None:
    (session,) = read("applied-compute", samples.lines(samples.APPLIED))
    assert [turn.prompt.tokens for turn in session.turns if isinstance(turn.prompt, LengthPrompt)] == [300, 450, 500]
    outputs = [turn.final.usage.output_tokens for turn in session.turns if turn.final.usage]
    assert outputs == [50, 40, 7]
    assert [wait.duration_s for turn in session.turns for wait in turn.tool_waits] == [1.25, 0.5]
    assert ids(session.turns[2])[: 300 // 64] == ids(session.turns[0])[: 300 // 64]


@pytest.mark.parametrize("change", [{"num_turns": 3}, {"tool_call_latency": [1.0]}, {"input_prompt_length": "long"}])
def test_applied_compute_rows_that_disagree(change: dict[str, object]) -> None:
    row = {**samples.APPLIED[0], **change}  # type: ignore[dict-item]
    with pytest.raises(TraceError, match=r"trace.jsonl:1: "):
        read("applied-compute", samples.lines([row]))


def test_weka_sub_agents_are_sessions_spawned_from_their_place() -> None:
    found = by_id(read("weka", json.dumps(samples.WEKA[0])))
    root, child = found["w"], found["w/agent_1"]
    assert child.parent == SpawnLink(session_id="w", turn_id="t1")
    assert (child.agent, child.start_s, child.turns[0].model) == ("explorer", 3.6, "small")
    first = root.turns[0].final.times
    assert first is not None
    assert (first.sent_s, first.first_token_s, first.end_s) == (1.0, 1.5, 3.0)
    assert root.turns[0].tool_waits == (ToolWait(name="tool", duration_s=6.0),)
    assert ids(root.turns[1])[:3] == ids(root.turns[0])
    assert not set(ids(child.turns[0])) & set(ids(root.turns[1]))


def test_weka_rows_without_a_document() -> None:
    rows = [{"t": 0.0, "in": 64, "out": 2, "hash_ids": [1]}, {"t": 5.0, "in": 70, "out": 2, "hash_ids": [1, 2]}]
    (session,) = read("weka", samples.lines(list(rows)))
    assert [turn.parent for turn in session.turns] == [None, "t1"]


def test_weka_first_tokens_after_the_end_are_not_believed() -> None:
    row = {"t": 1.0, "in": 64, "out": 2, "hash_ids": [1], "ttft": 2.5, "api_time": 2.0}
    log = ReadLog()
    (session,) = read("weka", samples.lines([row, {**row, "t": 9.0, "ttft": 2.0}]), log)
    first, second = (turn.final.times for turn in session.turns)
    assert first is not None
    assert second is not None
    assert (first.sent_s, first.first_token_s, first.end_s) == (1.0, None, 3.0)
    assert (second.sent_s, second.first_token_s, second.end_s) == (9.0, 11.0, 11.0)
    assert [count for text, count in log.assumptions.items() if "first token dated after the end" in text] == [1]


def test_local_ids_of_two_weka_traces_differ() -> None:
    other = {**samples.WEKA[0], "id": "v"}  # type: ignore[dict-item]
    sessions = read("weka", samples.lines([samples.WEKA[0], other]))
    roots = [session for session in sessions if session.parent is None]
    assert not set(ids(roots[0].turns[0])) & set(ids(roots[1].turns[0]))


def test_dynamo_keeps_64_bit_hashes_and_tool_times() -> None:
    found = by_id(read("dynamo", samples.lines(samples.DYNAMO)))
    parent, kid = found["s"], found["kid"]
    assert [ids(turn) for turn in parent.turns] == [(samples.BIG,), (samples.BIG, 7)]
    assert ids(kid.turns[0]) == (samples.NEAR,)
    # The tool ended 2 s after the request did; the next request came half a second later.
    (wait,) = parent.turns[0].tool_waits
    assert (wait.name, wait.call_id) == ("Bash", "c1")
    assert wait.duration_s == pytest.approx(2.0)
    assert kid.parent == SpawnLink(session_id="s", turn_id="q1")
    assert parent.start_s == 1_700_000_000.0


def test_dynamo_gap_without_tool_rows_counts_as_a_tool_wait() -> None:
    log = ReadLog()
    rows = [row for row in samples.DYNAMO if "tool" not in row]  # type: ignore[operator]
    found = by_id(read("dynamo", samples.lines(rows), log))
    (wait,) = found["s"].turns[0].tool_waits
    assert wait.duration_s == pytest.approx(2.5)
    assert len(log.assumptions) == 1


def test_dynamo_request_recorded_twice_counts_once() -> None:
    log = ReadLog()
    found = read("dynamo", samples.lines([*samples.DYNAMO, samples.DYNAMO[0]]), log)
    assert sum(len(session.turns) for session in found) == 3
    assert sum(log.duplicates.values()) == 1


def test_dynamo_hashes_that_do_not_fit_the_length() -> None:
    row = samples.dynamo_row("q", 1_700_000_000_000, 1.0, [1, 2])
    row["request"]["replay"]["input_length"] = 99  # type: ignore[index]
    with pytest.raises(TraceError, match="2 block ids of 16 tokens do not fit 99"):
        read("dynamo", samples.lines([row]))


def test_llmservingsim_rows_and_sessions() -> None:
    single, loop = read("llmservingsim", samples.lines(samples.LLMSERVINGSIM))
    assert (single.start_s, loop.start_s, loop.id) == (2.5, 4.0, "loop")
    assert loop.turns[0].tool_waits == (ToolWait(name="tool", duration_s=0.12),)
    assert [turn.parent for turn in loop.turns] == [None, "t1"]
    # Both prompts start with the same sixteen token ids.
    assert ids(single.turns[0])[0] == ids(loop.turns[0])[0]
    assert ids(loop.turns[1]) == ()


def test_llmservingsim_counts_must_match_the_ids() -> None:
    row = {**samples.LLMSERVINGSIM[0], "input_toks": 17}  # type: ignore[dict-item]
    with pytest.raises(TraceError, match="as many token ids"):
        read("llmservingsim", samples.lines([row]))


def test_bench_summary_is_refused_with_the_way_out() -> None:
    data = json.dumps(samples.BENCH)
    with pytest.raises(TraceError, match="simtool calibrate"):
        read("bench-summary", data)
    log = ReadLog(skip_invalid=True)
    assert read("bench-summary", data, log) == []
    assert log.omitted["benchmark summary"] == 1


_FORMATS = {
    "agentic-mooncake": samples.AGENTIC_V1 + samples.AGENTIC_V2,
    "applied-compute": samples.APPLIED,
    "weka": samples.WEKA,
    "dynamo": samples.DYNAMO,
    "llmservingsim": samples.LLMSERVINGSIM,
}


@pytest.mark.parametrize("name", _FORMATS)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_broken_recordings_give_sessions_or_an_error_of_our_own(name: str, data: st.DataObject) -> None:
    raw = data.draw(broken(copy.deepcopy(_FORMATS[name]), lines=True))
    for session in survive(reader_named(name), raw):
        names = [turn.id for turn in session.turns]
        assert len(names) == len(set(names))
        assert all(turn.parent is None or turn.parent in names for turn in session.turns)


@given(values=st.lists(JSON_VALUES, max_size=3), name=st.sampled_from(sorted(_FORMATS)))
@settings(max_examples=40, deadline=None)
def test_arbitrary_json_is_survived(values: list[object], name: str) -> None:
    survive(reader_named(name), samples.lines(values))


@pytest.mark.parametrize("name", _FORMATS)
def test_sniffing_tells_the_formats_apart(name: str) -> None:
    assert sniff(SourceFile(None, "x.json", samples.lines(_FORMATS[name]))).name == name
