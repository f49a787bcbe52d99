"""Records that lie in a temporary file are those that were added."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traces import heldrows
from traces.errors import SimtoolError
from traces.heldrows import HeldRows
from traces.readers.mooncake_rows import Request
from traces.readlog import ReadLog
from traces.registry import read_sessions

IDS = st.lists(st.one_of(st.integers(-(2**63), 2**64 - 1), st.text(max_size=3)), max_size=4).map(tuple)
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


@given(st.lists(REQUESTS, max_size=12), st.integers(1, 5), st.data())
def test_what_was_added_comes_back(rows: list[Request], held: int, data: st.DataObject) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(heldrows, "_HELD_ROWS", held)
        kept = HeldRows(Request)
        for row in rows:
            kept.append(row)
    assert len(kept) == len(rows)
    places = data.draw(st.permutations(range(len(rows))))
    assert kept.of(places) == [rows[place] for place in places]


@pytest.mark.parametrize("name", ["mooncake", "mooncake-delta"])
def test_sessions_of_a_large_file_are_those_of_a_small_one(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "trace.jsonl"
    line = '{{"session_id": "s{}", "timestamp": {}, "input_length": 700, "output_length": {}, "hash_ids": [{}, "b"]}}'
    path.write_text("\n".join(line.format(at % 7, at, at + 1, at % 3) for at in range(60)), encoding="utf-8")
    whole = list(read_sessions([str(path)], ReadLog(), name))
    monkeypatch.setattr(heldrows, "_HELD_ROWS", 4)
    assert list(read_sessions([str(path)], ReadLog(), name)) == whole
    assert sorted(len(session.turns) for session in whole) == [8, 8, 8, 9, 9, 9, 9]


def test_no_room_on_disk_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(heldrows, "_HELD_ROWS", 1)
    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    with pytest.raises(SimtoolError, match="No space left on device"):
        HeldRows(Request).append(Request(1, 1))
