"""The conformance command: exit codes, misses and unusable files."""

from __future__ import annotations

import json

import pytest

from tokenclass.conformance import check, main

_TEXT = 'ok <tool_call>{"name": "f", "arguments": {}}</tool_call>'
_CASE = {
    "id": "one",
    "family": "hermes",
    "text": _TEXT,
    "spans": [[0, 3, "F"], [3, 56, "S"]],
    "sub": [
        [3, 14, "D"], [14, 16, "P"], [16, 20, "K"], [20, 24, "P"], [24, 25, "N"], [25, 29, "P"], [29, 38, "K"],
        [38, 44, "P"], [44, 56, "D"],
    ],
    "calls": [{"name": "f", "arguments": {}}],
    "tools": [],
    "prompt_tail": "",
    "truncated": False,
    "ambiguous": False,
}  # fmt: skip


def _write(tmp_path, *cases, raw=""):
    path = tmp_path / "cases.jsonl"
    path.write_text("".join(json.dumps(case) + "\n" for case in cases) + raw)
    return path


def test_exact_cases_exit_zero(tmp_path, capsys):
    assert main([str(_write(tmp_path, _CASE))]) == 0
    assert "hermes: 1/1 exact" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("spans", [[0, 4, "F"], [4, 56, "S"]], "span 0: expected F [0, 4)"),
        ("sub", [[3, 56, "D"]], "sub-span 0: expected D [3, 56)"),
        ("calls", [], "call 0: expected None"),
    ],
)
def test_a_miss_is_shown_and_exits_one(tmp_path, capsys, field, value, said):
    assert main([str(_write(tmp_path, _CASE, _CASE | {field: value}))]) == 1
    out = capsys.readouterr().out
    assert "hermes: 1/2 exact" in out
    assert said in out


def test_an_ambiguous_case_may_match_either_reading(tmp_path):
    text = '<think>a <tool_call>{"name": "f", "arguments": {}}</tool_call>b</think>c'
    spans = [[0, 9, "R"], [9, 62, "S"], [62, 72, "F"]]
    sub = [[a + 6, b + 6, label] for a, b, label in _CASE["sub"]]
    case = _CASE | {"text": text, "spans": spans, "sub": sub}
    assert check(_write(tmp_path, case))["hermes"].exact == 0
    tally = check(_write(tmp_path, case | {"ambiguous": True}))["hermes"]
    assert (tally.exact, tally.ambiguous) == (1, 1)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("not json\n", "cases.jsonl:2: not a labelled completion"),
        ('{"id": "x"}\n', "cases.jsonl:2: not a labelled completion"),
    ],
)
def test_unusable_lines_exit_three(tmp_path, capsys, raw, said):
    assert main([str(_write(tmp_path, _CASE, raw=raw))]) == 3
    assert said in capsys.readouterr().err


def test_an_unknown_family_exits_three_with_near_names(tmp_path, capsys):
    assert main([str(_write(tmp_path, _CASE | {"family": "hermess"}))]) == 3
    assert "hermes" in capsys.readouterr().err


def test_a_missing_file_exits_three(tmp_path, capsys):
    assert main([str(tmp_path / "none.jsonl")]) == 3
    assert "none.jsonl" in capsys.readouterr().err
