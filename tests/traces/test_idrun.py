"""Block ids held as a run stand for the tuple of them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.traces import samples_serving as samples
from tests.traces.reading import read
from traces.checks import problems
from traces.idrun import MAX_IDS, IdRun
from traces.model import LengthPrompt, Session
from traces.readlog import ReadLog
from traces.registry import read_sessions
from traces.store import listed, write_trace


@given(st.integers(-5, 1 << 63), st.integers(0, 6), st.integers(-8, 8), st.integers(-8, 8))
def test_a_run_is_the_tuple_of_its_ids(first: int, count: int, start: int, stop: int) -> None:
    run, ids = IdRun(first, count), tuple(range(first, first + count))
    assert run == ids
    assert ids == run
    assert hash(run) == hash(ids)
    assert (len(run), tuple(run), run[start:stop], bool(run)) == (count, ids, ids[start:stop], bool(ids))
    assert run != (*ids, 0)
    assert run != list(ids)
    assert IdRun(first, count) == run
    assert IdRun(first + 1, count) != run or not count
    if count:
        assert (run[0], run[-1]) == (ids[0], ids[-1])


def test_a_run_of_too_many_ids_is_refused() -> None:
    data = msgspec.json.encode({"type": "length", "tokens": 1, "block_ids": {"first": 0, "count": MAX_IDS + 1}})
    with pytest.raises(msgspec.ValidationError, match="block_ids"):
        msgspec.json.decode(data, type=LengthPrompt)


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_written_traces_have_the_ids_one_by_one(suffix: str, tmp_path: Path) -> None:
    (session,) = read("applied-compute", samples.lines(samples.APPLIED))
    assert isinstance(_prompt(session).block_ids, IdRun)
    target = tmp_path / f"trace.{suffix}"
    write_trace([session], target, ReadLog())
    (found,) = read_sessions([str(target)], ReadLog())
    assert found == session
    assert isinstance(_prompt(found).block_ids, tuple)
    assert listed(found) is found
    assert msgspec.json.encode(found) == msgspec.json.encode(listed(session))


def test_a_trace_may_give_a_run() -> None:
    (session,) = read("applied-compute", samples.lines(samples.APPLIED))
    found = msgspec.json.decode(msgspec.json.encode(session), type=Session)
    assert found == session
    assert list(problems(found)) == []


def _prompt(session: Session) -> LengthPrompt:
    prompt = session.turns[-1].prompt
    assert isinstance(prompt, LengthPrompt)
    return prompt
