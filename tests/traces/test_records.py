from __future__ import annotations

import json
import math

import pytest
from hypothesis import given

from tests.traces.fuzz import JSON_VALUES
from traces.errors import TraceError
from traces.readlog import ReadLog
from traces.records import as_count, document, documents, head_values, objects
from traces.source import HEAD_BYTES, SourceFile


def _file(data: bytes) -> SourceFile:
    return SourceFile(None, "x.json", data)


@pytest.mark.parametrize(("value", "count"), [(0, 0), (7.0, 7), (True, None), (-1, None), (1.5, None), ("3", None)])
def test_counts_are_whole_numbers_of_zero_or_more(value: object, count: int | None) -> None:
    assert as_count(value) == count


@pytest.mark.parametrize("value", [math.nan, math.inf, 10**400])
def test_numbers_out_of_range_are_no_counts(value: float) -> None:
    assert as_count(value) is None


def test_bad_lines_are_named_or_counted() -> None:
    data = b'\xef\xbb\xbf{"a": 1}\r\n42\n{"b"\n\n{"c": 2}\n'
    with pytest.raises(TraceError, match=r"x\.json:2: the line is no JSON object"):
        list(objects(_file(data), ReadLog()))
    log = ReadLog(skip_invalid=True)
    assert [number for number, _ in objects(_file(data), log)] == [1, 5]
    assert sum(log.omitted.values()) == 2


@pytest.mark.parametrize("data", [b'{"a":\n 1}', b'{"a": 1}', b'\n{"a": 1}\n'])
def test_documents_take_one_value_over_any_number_of_lines(data: bytes) -> None:
    assert [value for _, value in documents(_file(data), ReadLog())] == [{"a": 1}]


def test_documents_take_lines_whatever_the_name() -> None:
    assert len(list(documents(_file(b'{"a": 1}\n{"a": 2}\n'), ReadLog()))) == 2


@pytest.mark.parametrize("data", [b"[" * 5000, b"[" * 400 + b"]" * 400, b"\xff\xfe{}", b'{"a": "\x00"}', b""])
def test_hostile_documents_are_trace_errors(data: bytes) -> None:
    with pytest.raises(TraceError):
        document(_file(data))
    head_values(data)


@given(JSON_VALUES)
def test_the_head_of_a_cut_document_shows_its_start(value: object) -> None:
    text = json.dumps({"first": 1, "rest": value, "pad": "y" * 50}).encode()
    for cut in (len(text), len(text) // 2 + 14):
        shown = head_values(text[:cut])
        assert not shown or (isinstance(shown[0], dict) and shown[0].get("first") == 1)


def test_a_head_that_ends_inside_the_first_line_still_shows_it() -> None:
    data = json.dumps({"kind": "x", "body": "z" * (2 * HEAD_BYTES)}).encode() + b'\n{"kind": "y"}\n'
    (shown,) = head_values(_file(data).head())
    assert isinstance(shown, dict)
    assert shown["kind"] == "x"
