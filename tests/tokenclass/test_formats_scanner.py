"""The literal scanner against the standard library's parsers."""

from __future__ import annotations

import ast
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenclass.classes import SubClass
from tokenclass.formats.dialect import JSON, PYTHON, Outcome
from tokenclass.formats.literals import Scanner
from tokenclass.formats.sink import Sink

_JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def _scan(text: str, dialect=JSON):
    sink = Sink()
    return Scanner(text, sink, dialect).scan(0), sink.subs()


@given(_JSON_VALUES, st.sampled_from([None, 2]), st.booleans())
def test_value_equals_json_loads(value, indent, ascii_only):
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    scanned, subs = _scan(text)
    assert scanned.outcome is Outcome.COMPLETE
    assert scanned.end == len(text)
    assert scanned.value == json.loads(text)
    assert "".join(text[start:end] for start, end, _ in subs) == text


@given(_JSON_VALUES)
def test_value_equals_literal_eval(value):
    text = repr(value)
    scanned, _ = _scan(text, PYTHON)
    assert scanned.outcome is Outcome.COMPLETE
    assert scanned.value == ast.literal_eval(text)


@given(_JSON_VALUES, st.data())
def test_every_prefix_is_cut_or_complete(value, data):
    text = json.dumps(value)
    cut = data.draw(st.integers(0, len(text)))
    scanned, subs = _scan(text[:cut])
    assert scanned.outcome is not Outcome.BAD
    assert "".join(text[start:end] for start, end, _ in subs) == text[: scanned.end]


@given(st.text(alphabet='{}[]",:\\ntrue01. \n'))
def test_accepts_what_json_accepts_and_nothing_shorter(text):
    scanned, _ = _scan(text)
    try:
        value, end = json.JSONDecoder(strict=False).raw_decode(text.lstrip(" \t\n\r"))
    except (ValueError, RecursionError):
        return
    lead = len(text) - len(text.lstrip(" \t\n\r"))
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        assert scanned.outcome is Outcome.COMPLETE
        assert (scanned.value, scanned.end) == (value, lead + end)


def test_sub_classes_of_an_object():
    text = '{"a": "x", "b": [1, true, null], "c": {}}'
    _, subs = _scan(text)
    labelled = [(text[start:end], label) for start, end, label in subs if label is not SubClass.P]
    assert labelled == [
        ("a", SubClass.K),
        ("x", SubClass.T),
        ("b", SubClass.K),
        ("1", SubClass.V),
        ("true", SubClass.V),
        ("null", SubClass.V),
        ("c", SubClass.K),
    ]


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a": ['])
def test_deep_nesting_needs_no_recursion(opening):
    scanned, _ = _scan(opening * 50_000)
    assert scanned.outcome is Outcome.CUT


@pytest.mark.parametrize("text", ["{a: 1}", '{"a" 1}', "[1 2]", "{'a': 1}", "[01]", "[+1]", "nul", '{"a": }', "[1.]"])
def test_broken_json_is_bad(text):
    outcome = _scan(text + " ")[0].outcome
    assert outcome is Outcome.BAD


def test_an_integer_too_long_for_int_is_a_float():
    digits = "1" * 300
    assert _scan(f"[{digits}]")[0].value == [int(digits)]
    assert _scan("[" + "9" * 5000 + "]")[0].value == [float("inf")]
