"""Langfuse observations as model calls and tool runs."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.traces.fuzz import broken, survive
from tests.traces.reading import read
from traces.model import ToolCallBlock, ToolWait, Usage, prompt_messages
from traces.readers.langfuse_usage import langfuse_usage
from traces.readlog import ReadLog
from traces.registry import reader_named


def observation(
    name: str, kind: str, start: int, end: int, parent: str | None = None, **more: object
) -> dict[str, object]:
    times = {"startTime": f"2025-01-01T00:00:{start:02}.000Z", "endTime": f"2025-01-01T00:00:{end:02}.000Z"}
    return {"id": name, "traceId": "tr", "type": kind, "name": name, "parentObservationId": parent, **times, **more}


LANGFUSE: dict[str, object] = {
    "trace": {"id": "tr", "sessionId": "se"},
    "observations": [
        observation(
            "g2",
            "GENERATION",
            8,
            9,
            input=json.dumps([{"role": "tool", "tool_call_id": "k", "content": "seen"}]),
            output={"role": "assistant", "content": "ok"},
            usageDetails={"input": 20, "output": 4, "output_reasoning": 6, "total": 30},
            completionStartTime="2025-01-01T00:00:08.500Z",
        ),
        observation("look", "TOOL", 3, 7),
        observation(
            "outer",
            "GENERATION",
            1,
            3,
            output={
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "k", "function": {"name": "look", "arguments": "{}"}}],
            },
            usageDetails={"input": 30, "output": 6, "total": 36},
        ),
        observation(
            "g1",
            "GENERATION",
            1,
            2,
            "outer",
            input="hi",
            output="None",
            usageDetails={"input": 15, "output": 3, "total": 18},
        ),
    ],
}


def test_langfuse_counts_inner_generations_with_the_text_of_outer_ones() -> None:
    log = ReadLog()
    (session,) = read("langfuse", json.dumps(LANGFUSE), log)
    first, second = session.turns
    assert (session.id, first.id, second.id, second.parent) == ("se", "g1", "g2", "g1")
    assert first.final.output == (ToolCallBlock(name="look", arguments="{}", call_id="k"),)
    assert first.tool_waits == (ToolWait(name="look", duration_s=5.0, call_id="k"),)
    # The recorded prompt of g2 is only the tool's result; the total says that reasoning is beside the output.
    assert [message.role for message in prompt_messages(session, second)] == ["user", "assistant", "tool"]
    assert second.final.usage == Usage(input_tokens=20, output_tokens=10, reasoning_tokens=6)
    assert sum(log.duplicates.values()) == 1
    times = second.final.times
    assert times is not None
    assert times.first_token_s == 1735689608.5


def test_langfuse_observation_exported_twice_counts_once() -> None:
    log = ReadLog()
    read("langfuse", f"{json.dumps(LANGFUSE)}\n{json.dumps(LANGFUSE)}\n", log)
    assert log.duplicates["observation exported twice"] == 4


def test_usage_buckets_inside_and_beside_input_and_output() -> None:
    inside = {"input": 20, "output": 9, "prompt_details.cache_read": 5, "completion_details.reasoning": 4, "total": 29}
    assert langfuse_usage(dict(inside), {}, {}) == Usage(
        input_tokens=20, cached_tokens=5, output_tokens=9, reasoning_tokens=4
    )
    beside = {"input": 20, "input_cached_tokens": 5, "output": 9, "output_reasoning_tokens": 4, "total": 38}
    assert langfuse_usage(dict(beside), {}, {}) == Usage(
        input_tokens=25, cached_tokens=5, output_tokens=13, reasoning_tokens=4
    )
    older = {"input": 7, "output": 2, "total": 9, "unit": "TOKENS"}
    assert langfuse_usage({}, dict(older), {}) == Usage(input_tokens=7, output_tokens=2)
    assert langfuse_usage({}, {}, {"promptTokens": 3, "completionTokens": 1}) == Usage(input_tokens=3, output_tokens=1)


def test_reasoning_that_only_the_attributes_of_the_span_tell_of() -> None:
    attributes = {"gen_ai.usage.output_tokens": "30", "gen_ai.usage.details.thoughts_tokens": "21"}
    call = observation(
        "g1",
        "GENERATION",
        1,
        2,
        input=[{"role": "user", "content": "sum"}],
        output="two",
        usageDetails={"input": 5, "output": 30, "total": 35},
        metadata=json.dumps({"attributes": attributes}),
    )
    (session,) = read("langfuse", json.dumps({"trace": {"id": "tr"}, "observations": [call]}))
    usage = session.turns[0].final.usage
    assert usage == Usage(input_tokens=5, output_tokens=30, reasoning_tokens=21)


@given(data=st.data())
@settings(max_examples=50, deadline=None)
def test_broken_recordings_give_sessions_or_an_error_of_our_own(data: st.DataObject) -> None:
    raw = data.draw(broken([LANGFUSE], lines=True))
    for session in survive(reader_named("langfuse"), raw):
        names = [turn.id for turn in session.turns]
        assert len(names) == len(set(names))
        assert all(turn.parent is None or turn.parent in names for turn in session.turns)


def test_a_role_of_any_type_and_a_first_token_after_the_end() -> None:
    call = {"id": "k", "function": {"name": "look", "arguments": "{}"}}
    said = {"role": "assistant", "content": None, "tool_calls": [call]}
    data = observation(
        "g",
        "GENERATION",
        1,
        3,
        input=[said, {"role": ["look"], "content": "a"}, {"role": {"look": 1}, "content": "b"}],
        output={"role": "assistant", "content": "ok"},
        completionStartTime="2025-01-01T00:00:09.000Z",
    )
    log = ReadLog()
    (session,) = read("langfuse", json.dumps({"trace": {"id": "tr"}, "observations": [data]}), log)
    times = session.turns[0].final.times
    assert times is not None
    assert times.first_token_s is None
    assert times.sent_s is not None
    assert any("first token dated after the end" in note for note in log.assumptions)
