from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.traces.fuzz import JSON_VALUES, broken, survive
from tests.traces.strategies import sessions
from traces.checks import problems
from traces.errors import SimtoolError, TraceError
from traces.model import Attempt, LengthPrompt, MessagePrompt, Session, TextBlock, Times, ToolCallBlock, Turn, Usage
from traces.readlog import ReadLog
from traces.registry import read_files, read_sessions, reader_named
from traces.source import SourceFile
from traces.store import trace_schema, write_trace

_ENDINGS = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet")


def _simple(name: str = "s", **more: object) -> Session:
    output = (TextBlock(text="hi"), ToolCallBlock(name="f", arguments="{}"))
    usage = Usage(input_tokens=10, cached_tokens=4, output_tokens=3)
    turn = Turn(id="t", prompt=MessagePrompt(ranges=()), attempts=(Attempt(output=output, usage=usage),), model="m")
    return msgspec.structs.replace(Session(id=name, turns=(turn,)), **more)


def _again(target: Path, log: ReadLog | None = None) -> list[Session]:
    file = SourceFile(None, target.name, target.read_bytes())
    return list(read_files([file], log or ReadLog()))


@given(found=st.lists(st.integers(0, 99), unique=True, max_size=3), data=st.data())
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_form_gives_the_sessions_back(tmp_path: Path, found: list[int], data: st.DataObject) -> None:
    written = [data.draw(sessions(f"s{number}")) for number in found]
    assert [list(problems(session)) for session in written] == [[] for _ in written]
    for ending in _ENDINGS:
        target = tmp_path / f"trace{ending}"
        assert write_trace(iter(written), target, ReadLog()) == len(written)
        if written:
            assert _again(target) == written


@given(session=sessions())
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_written_lines_are_valid_under_the_published_schema(tmp_path: Path, session: Session) -> None:
    log = ReadLog()
    log.assume("something")
    target = tmp_path / "trace.jsonl"
    write_trace([session], target, log, "mooncake", ["a note"])
    validator = jsonschema.Draft202012Validator(trace_schema())
    for line in target.read_text().split("\n")[:-1]:
        validator.validate(json.loads(line))


def test_the_schema_refuses_what_the_reader_refuses() -> None:
    validator = jsonschema.Draft202012Validator(trace_schema())
    assert not validator.is_valid({"id": "s", "turns": [], "extra": 1})
    assert not validator.is_valid({"id": "s", "turns": [{"id": "t", "attempts": []}]})


@pytest.mark.parametrize("ending", _ENDINGS)
def test_what_the_source_lacked_stays_with_the_trace(tmp_path: Path, ending: str) -> None:
    log = ReadLog()
    log.omit("voice", 2)
    log.assume("guess", 3)
    log.duplicate("copy")
    target = tmp_path / f"trace{ending}"
    write_trace([_simple()], target, log)
    again = ReadLog()
    assert len(_again(target, again)) == 1
    assert (again.omitted, again.assumptions, again.duplicates) == (log.omitted, log.assumptions, log.duplicates)


def test_the_header_comes_after_lazy_reading(tmp_path: Path) -> None:
    log = ReadLog()

    def lazily() -> Iterator[Session]:
        yield _simple()
        log.omit("late")

    write_trace(lazily(), tmp_path / "t.jsonl", log)
    assert json.loads((tmp_path / "t.jsonl").read_text().split("\n")[0])["omitted"] == {"late": 1}


@pytest.mark.parametrize("ending", _ENDINGS)
def test_a_failing_source_leaves_the_old_file_and_no_other(tmp_path: Path, ending: str) -> None:
    target = tmp_path / f"trace{ending}"
    write_trace([_simple()], target, ReadLog())
    before = target.read_bytes()

    def failing() -> Iterator[Session]:
        yield _simple("a")
        raise TraceError("x", 1, "broken")

    with pytest.raises(TraceError):
        write_trace(failing(), target, ReadLog())
    assert target.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


def test_an_unwritable_folder_is_an_error_of_our_own(tmp_path: Path) -> None:
    with pytest.raises(SimtoolError, match="cannot write"):
        write_trace([_simple()], tmp_path / "missing" / "t.jsonl", ReadLog())


@pytest.mark.parametrize("ending", _ENDINGS)
def test_the_same_sessions_give_the_same_bytes(tmp_path: Path, ending: str) -> None:
    for name in ("a", "b"):
        write_trace([_simple()], tmp_path / f"{name}{ending}", ReadLog())
    assert (tmp_path / f"a{ending}").read_bytes() == (tmp_path / f"b{ending}").read_bytes()


def test_parquet_has_a_row_a_turn_with_columns_to_query(tmp_path: Path) -> None:
    times = Times(sent_s=1.0, first_token_s=1.5, end_s=2.0)
    turn = msgspec.structs.replace(_simple().turns[0], id="u", parent="t")
    turn = msgspec.structs.replace(turn, attempts=(msgspec.structs.replace(turn.final, times=times),))
    write_trace([_simple(turns=(_simple().turns[0], turn), start_s=0.5)], tmp_path / "t.parquet", ReadLog())
    rows = pq.read_table(tmp_path / "t.parquet").to_pylist()
    assert [(row["session_id"], row["turn_id"], row["parent"]) for row in rows] == [("s", "t", None), ("s", "u", "t")]
    assert rows[1]["first_token_s"] == 1.5
    assert {row["n_tool_calls"] for row in rows} == {1}
    assert {row["cached_tokens"] for row in rows} == {4}


def _read(*lines: object) -> list[Session]:
    data = b"\n".join(line if isinstance(line, bytes) else msgspec.json.encode(line) for line in lines)
    return list(reader_named("canonical").read([SourceFile(None, "t.jsonl", data)], ReadLog()))


_TURN = {"id": "t", "prompt": {"type": "length", "tokens": 4}, "attempts": [{"output": []}]}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ({"simtool_trace": 99}, r"t\.jsonl:1: schema version 99"),
        ({"simtool_trace": "x"}, r"t\.jsonl:1: header: .*simtool_trace"),
        (b"{", r"t\.jsonl:1: "),
        (b"42", r"t\.jsonl:1: "),
        ({"id": "s", "turns": [{**_TURN, "id": 5}]}, r"\$\.turns\[0\]\.id"),
        ({"id": "s", "turns": [_TURN], "speed": 1}, "speed"),
        ({"id": "s", "turns": []}, r"\$\.turns: a session needs"),
        ({"id": "s", "turns": [_TURN, _TURN]}, r"\$\.turns\[1\]\.id: turn id 't' is there twice"),
        ({"id": "s", "turns": [{**_TURN, "parent": "x"}]}, r"\$\.turns\[0\]\.parent"),
        ({"id": "s", "turns": [{**_TURN, "attempts": []}]}, r"\$\.turns\[0\]\.attempts"),
        ({"id": "s", "turns": [{**_TURN, "prompt": {"type": "messages", "ranges": [[0, 1]]}}]}, r"ranges\[0\]"),
    ],
)
def test_errors_name_the_line_and_the_field(line: object, reason: str) -> None:
    with pytest.raises(TraceError, match=reason):
        _read(line)


def test_more_blocks_than_tokens_and_counts_that_break_the_identity_are_errors() -> None:
    prompt = LengthPrompt(tokens=512, block_tokens=512, block_ids=(1, 2))
    turn = _simple().turns[0]
    assert any("more than 512 tokens fill" in found for found in problems(_simple(turns=(_with(turn, prompt=prompt),))))
    usage = Usage(input_tokens=5, cached_tokens=4, cache_write_tokens=2)
    bad = _with(turn, attempts=(Attempt(output=(), usage=usage),))
    assert any("more than input_tokens" in found for found in problems(_simple(turns=(bad,))))
    late = _with(turn, attempts=(Attempt(output=(), times=Times(sent_s=2.0, end_s=1.0)),))
    assert any("must not decrease" in found for found in problems(_simple(turns=(late,))))


def _with(turn: Turn, **more: object) -> Turn:
    return msgspec.structs.replace(turn, **more)


def test_a_session_id_twice_is_an_error() -> None:
    with pytest.raises(TraceError, match="there twice"):
        _read(_simple(), _simple())


@given(values=st.lists(JSON_VALUES, max_size=3), data=st.data())
@settings(max_examples=40, deadline=None)
def test_broken_traces_raise_nothing_but_errors_of_their_own(values: list[object], data: st.DataObject) -> None:
    sound = json.loads(msgspec.json.encode(data.draw(sessions())))
    rows = [{"simtool_trace": 1}, sound, *values]
    for session in survive(reader_named("canonical"), data.draw(broken(rows, lines=True))):
        assert list(problems(session)) == []


def test_a_parquet_file_of_another_maker_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    with pytest.raises(TraceError, match="no column 'session_json'"):
        list(read_sessions([str(tmp_path / "other.parquet")], ReadLog()))
    (tmp_path / "cut.parquet").write_bytes(b"PAR1\x00\x00")
    with pytest.raises(TraceError, match="not a readable Parquet file"):
        list(read_sessions([str(tmp_path / "cut.parquet")], ReadLog()))
