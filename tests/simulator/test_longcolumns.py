"""Long columns hold what was appended, in memory or in a file alike, and letting go of their memory loses nothing."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator import longcolumns
from simulator.longcolumns import (
    LongColumn,
    ScalarColumn,
    SparseColumn,
    apart,
    full_apart,
    let_go,
    let_go_all,
    zeros_apart,
)
from traces.errors import SimtoolError

BLOCKS = st.lists(st.lists(st.integers(0, 65535), max_size=9), max_size=9)


def _resident_kb() -> int:
    with Path("/proc/self/status").open(encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


@given(BLOCKS, st.sampled_from([0, 7, 1 << 20]), st.sampled_from([LongColumn, SparseColumn]))
def test_holds_what_was_appended(
    blocks: list[list[int]], in_memory: int, kind: type[LongColumn | SparseColumn]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(longcolumns, "IN_MEMORY_BYTES", in_memory)
        column = kind(np.uint16)
        expected: list[int] = []
        for block in blocks:
            column.append(np.array(block, np.uint16))
            expected += block
            found = column.array()
            let_go(found)
            assert found.tolist() == expected
            assert found.dtype == np.uint16


@given(st.lists(st.integers(0, 5), max_size=9))
def test_zeros_take_no_room(sizes: list[int]) -> None:
    column = SparseColumn(np.int32)
    for size in sizes:
        column.append(np.zeros(size, np.int32))
    found = column.array()
    assert found.size == sum(sizes)
    assert not found.any()
    assert found.strides == (0,)


def test_rows_are_appended_in_order() -> None:
    column = LongColumn(np.int64)
    column.append(np.arange(6).reshape(2, 3).T)
    assert column.array().tolist() == [0, 3, 1, 4, 2, 5]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="resident memory is read from /proc")
def test_letting_go_frees_the_pages_that_were_looked_at() -> None:
    column = LongColumn(np.uint8)
    for value in range(64):
        column.append(np.full(1 << 20, value, np.uint8))
    found = column.array()
    total = int(found.sum())
    looked_at = _resident_kb()
    let_go(found[100:200])
    assert looked_at - _resident_kb() > 50_000
    assert int(found.sum()) == total


def test_memory_of_its_own_is_left_alone() -> None:
    array = np.arange(5)
    let_go(array, array[1:], np.broadcast_to(np.int64(3), 4))
    assert array.tolist() == [0, 1, 2, 3, 4]


def test_a_folder_without_room_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    monkeypatch.setattr(longcolumns, "IN_MEMORY_BYTES", 0)
    with pytest.raises(SimtoolError, match=r"No space left on device.*TMPDIR"):
        LongColumn(np.uint8).append(np.zeros(1, np.uint8))


@pytest.mark.parametrize("in_memory", [0, 1 << 20])
def test_columns_of_known_length_keep_what_is_written(monkeypatch: pytest.MonkeyPatch, in_memory: int) -> None:
    monkeypatch.setattr(longcolumns, "IN_MEMORY_BYTES", in_memory)
    columns = zeros_apart(5000, {"time_s": np.float64, "count": np.int32, "flag": np.bool_})
    full = full_apart(5000, np.nan, np.float64)
    moved = apart(np.arange(5000))
    places = np.arange(3, 5000, 7)
    columns["count"][places] = 5
    full[places] = 2.5
    let_go_all()
    assert [columns[name].dtype for name in columns] == [np.float64, np.int32, np.bool_]
    assert not columns["time_s"].any()
    assert not columns["flag"].any()
    assert np.array_equal(np.flatnonzero(columns["count"]), places)
    assert np.array_equal(np.flatnonzero(~np.isnan(full)), places)
    assert np.array_equal(moved, np.arange(5000))


@given(st.lists(st.one_of(st.integers(0, 255), st.none()), max_size=20))
def test_numbers_one_by_one(moves: list[int | None]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(longcolumns, "IN_MEMORY_BYTES", 2)
        column = ScalarColumn("i", [9])
        for move in moves:
            if move is None:
                column.settle()
            else:
                column.append(move)
        expected = [9, *(move for move in moves if move is not None)]
        assert len(column) == len(expected)
        assert column.array().tolist() == expected
