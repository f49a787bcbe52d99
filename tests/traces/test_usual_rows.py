"""Rows that are read as typed records, and cells and times that are read the short way, mean what they meant."""

from __future__ import annotations

import copy
import csv
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.traces import samples_serving as samples
from tests.traces.fuzz import broken
from traces import records, tables
from traces.clock import unix_seconds
from traces.errors import SimtoolError
from traces.model import Session
from traces.readlog import ReadLog
from traces.records import Json
from traces.registry import reader_named
from traces.source import SourceFile

_FORMATS: dict[str, tuple[str, list[object]]] = {
    "agentic-mooncake": ("agentic_rows", samples.AGENTIC_V1 + samples.AGENTIC_V2),
    "applied-compute": ("applied_compute", samples.APPLIED),
    "llmservingsim": ("llmservingsim", samples.LLMSERVINGSIM),
    "weka": ("weka", [samples.WEKA[0], {**samples.WEKA[0], "requests": [samples.WEKA[0]["requests"][0]]}]),  # type: ignore[dict-item,index]
}


def _read(name: str, data: bytes, *, skip: bool) -> tuple[list[Session], dict[str, int], str]:
    log = ReadLog(skip_invalid=skip)
    found: list[Session] = []
    said = ""
    try:
        found.extend(reader_named(name).read([SourceFile(None, "trace.jsonl", data)], log))
    except SimtoolError as error:
        said = str(error)
    return found, {**log.omitted, **log.assumptions}, said


def _as_objects(file: SourceFile, kind: type, log: ReadLog) -> Iterator[tuple[int, Json]]:
    del kind
    return records.objects(file, log)


def _as_documents(file: SourceFile, log: ReadLog, kind: type) -> Iterator[tuple[int | None, object]]:
    del kind
    return records.documents(file, log)


@pytest.mark.parametrize("name", _FORMATS)
@pytest.mark.parametrize("skip", [False, True])
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_typed_rows_give_what_objects_give(name: str, skip: bool, data: st.DataObject) -> None:
    module, values = _FORMATS[name]
    raw = data.draw(broken(copy.deepcopy(values), lines=True))
    typed = _read(name, raw, skip=skip)
    call, function = ("documents", _as_documents) if name == "weka" else ("decoded", _as_objects)
    with mock.patch(f"traces.readers.{module}.{call}", function):
        assert typed == _read(name, raw, skip=skip)


@pytest.mark.parametrize("name", _FORMATS)
def test_usual_rows_are_read_as_typed_records(name: str) -> None:
    values = _FORMATS[name][1]
    with mock.patch("traces.records._object", side_effect=AssertionError("an object")):
        usual = samples.lines([values[-1] if name == "weka" else values[0]] * 2)
        assert _read(name, usual, skip=True)[0]


@given(
    second=st.integers(0, 4_000_000_000),
    digits=st.text("0123456789", min_size=1, max_size=9),
    joint=st.sampled_from(" T"),
)
def test_times_of_any_fraction_are_exact_to_the_microsecond(second: int, digits: str, joint: str) -> None:
    at = datetime.fromtimestamp(second, UTC)
    exact = (at + timedelta(microseconds=int(digits[:6].ljust(6, "0")))).timestamp()
    assert unix_seconds(f"{at.replace(tzinfo=None).isoformat(joint)}.{digits}") == exact


@pytest.mark.parametrize(
    "text",
    [
        "2024-01-31  2:00:00.5",
        "2024-13-31 12:00:00.5",
        "2024-01-31 12:00:00.",
        ".....................",
    ],
)
def test_texts_that_only_look_like_times_are_none(text: str) -> None:
    assert unix_seconds(text) is None


@given(st.text("ab1 \",;\t\r\n\0'\\", max_size=12), st.sampled_from(",;\t"))
def test_cells_are_those_of_the_csv_module(text: str, delimiter: str) -> None:
    try:
        expected = next(csv.reader([text], delimiter=delimiter, strict=True), None)
    except csv.Error:
        expected = None
    if text:
        assert tables._cells(text, delimiter) == expected


@given(st.text("0123456789.-+e_ ²١", max_size=18))
def test_counts_are_whole_numbers_however_written(text: str) -> None:
    try:
        value = float(text)
    except ValueError:
        assert tables.count(text) is None
        return
    whole = 0 <= value <= 1 << 53 and value == int(value)
    assert tables.count(text) == (int(value) if whole else None)
