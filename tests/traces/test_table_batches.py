from __future__ import annotations

import csv
import io

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.traces.reading import read
from traces import tables
from traces.readlog import ReadLog
from traces.source import SourceFile

_CELLS = st.one_of(
    st.integers(0, 10**17).map(str),
    st.floats(0, 3e12).map(repr),
    st.text(alphabet='0123456789.eE-+_ \t"x\x1c\u00a0é:', max_size=8),
)


def _together(data: bytes, log: ReadLog) -> list[tuple[int, tuple[str, ...]]]:
    file = SourceFile(None, "t.csv", data)
    return [
        (number, cells)
        for batch in tables.batches(file, log, ("b", "none", "a"))
        for number, cells in zip(batch.numbers, zip(*batch.columns, strict=True), strict=True)
    ]


@given(st.lists(st.tuples(_CELLS, _CELLS), min_size=1, max_size=12))
@settings(max_examples=300, deadline=None)
def test_cells_are_those_of_the_csv_module(records: list[tuple[str, str]]) -> None:
    assume(all("".join(record).strip() for record in records))  # blank lines are no records
    sink = io.StringIO()
    csv.writer(sink, lineterminator="\n").writerows([("a", "b"), *records])
    found = _together(sink.getvalue().encode(), ReadLog(skip_invalid=True))
    expected = [(number, (b.strip(), "", a.strip())) for number, (a, b) in enumerate(records, start=2)]
    assert found == expected


@given(st.lists(_CELLS, min_size=1, max_size=10), st.sampled_from(["time", "time_ms", "ts_ns", "at_s"]))
@settings(max_examples=300, deadline=None)
def test_columns_read_as_their_cells(cells: list[str], column: str) -> None:
    assert tables.counts(cells) == [tables.count(cell) for cell in cells]
    assert tables.times(cells, column) == [tables.seconds(cell, column) for cell in cells]


@given(st.lists(st.floats(9e8, 3e19), min_size=1, max_size=6))
def test_unix_times_of_any_unit_read_as_their_cells(values: list[float]) -> None:
    cells = [repr(value) for value in values]
    assert tables.times(cells, "timestamp") == [tables.seconds(cell, "timestamp") for cell in cells]


def test_an_odd_record_among_many_is_told_by_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["arrival,input_tokens,output_tokens", *(f"{n}.5,{n + 1},{n % 7 + 1}" for n in range(2000))]
    plain = read("csv", "\n".join(lines))
    lines[700] = '699.5,"700",7'
    lines.insert(1200, "1,2")
    lines.insert(1300, "")
    log = ReadLog(skip_invalid=True)
    monkeypatch.setattr(tables, "_BATCH_BYTES", 4000)
    found = read("csv", "\n".join(lines), log)
    assert [session.turns for session in found] == [session.turns for session in plain]
    assert dict(log.omitted) == {"record with missing or extra cells": 1}
    assert [found[n].id for n in (0, 1198, 1199, 1999)] == ["trace:2", "trace:1200", "trace:1202", "trace:2003"]
