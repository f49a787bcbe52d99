"""Records that lie in a temporary file are those that were added."""

from __future__ import annotations

import tempfile
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from traces import heldrows
from traces.heldrows import HeldRows, Row
from traces.readers.mooncake_rows import Request
from traces.readlog import ReadLog
from traces.registry import read_sessions

IDS = st.lists(st.one_of(st.integers(-(2**65), 2**65), st.text(max_size=3)), max_size=4).map(tuple)
REQUESTS = st.builds(
    Request,
    st.integers(1, 2**40),
    st.integers(1, 9),
    IDS,
    st.one_of(st.none(), st.text(max_size=4)),
    st.one_of(st.none(), st.floats(allow_nan=False)),
    model=st.sampled_from([None, "m"]),
    line=st.integers(0, 9),
)


class Listed(msgspec.Struct, array_like=True, gc=False):
    """A record that is packed as it is."""

    ids: tuple[int | str, ...]
    line: int = 0


@given(st.lists(REQUESTS, max_size=12), st.integers(0, 5), st.integers(1, 99), st.data())
def test_what_was_added_comes_back(rows: list[Request], objects: int, held: int, data: st.DataObject) -> None:
    _comes_back(Request, rows, objects, held, data)


@given(st.lists(st.builds(Listed, IDS), max_size=12), st.integers(0, 5), st.integers(1, 99), st.data())
def test_what_was_added_as_arrays_comes_back(rows: list[Listed], objects: int, held: int, data: st.DataObject) -> None:
    _comes_back(Listed, rows, objects, held, data)


def _comes_back(kind: type[Row], rows: list[Row], objects: int, held: int, data: st.DataObject) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(heldrows, "_HELD_BYTES", held)
        patch.setattr(heldrows, "_MAPPED_READS", 2)
        patch.setattr(heldrows, "_PACKED_AT_A_TIME", 2)
        kept = HeldRows(kind, objects)
        whole = data.draw(st.integers(0, len(rows)))
        for row in rows[:whole]:
            kept.extend([row])
        kept.of(range(whole))
        kept.extend(rows[whole:])
        assert len(kept) == len(rows)
        places = data.draw(st.permutations(range(len(rows))))
        assert kept.of(places) == [rows[place] for place in places]
        assert [kept[place] for place in places] == kept.of(places)


@pytest.mark.parametrize("name", ["mooncake", "mooncake-delta"])
def test_sessions_of_a_large_file_are_those_of_a_small_one(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "trace.jsonl"
    line = '{{"session_id": "s{}", "timestamp": {}, "input_length": 700, "output_length": {}, "hash_ids": [{}, "b"]}}'
    path.write_text("\n".join(line.format(at % 7, at, at + 1, at % 3) for at in range(60)), encoding="utf-8")
    whole = list(read_sessions([str(path)], ReadLog(), name))
    monkeypatch.setattr(heldrows, "_HELD_ROWS", 4)
    monkeypatch.setattr(heldrows, "_HELD_BYTES", 64)
    assert list(read_sessions([str(path)], ReadLog(), name)) == whole
    assert sorted(len(session.turns) for session in whole) == [8, 8, 8, 9, 9, 9, 9]


def test_few_records_need_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "TemporaryFile", None)
    kept = HeldRows(Request, 0)
    kept.extend([Request(1, 2), Request(3, 4)])
    assert kept.of([1, 0]) == [Request(3, 4), Request(1, 2)]
