"""Reading stays linear: counted work per character does not grow with hostile inputs."""

from __future__ import annotations

import sys

import pytest

from tokenclass.formats.registry import FAMILIES
from tokenclass.parse import parse_output

_TOOLS = [{"name": "k", "parameters": {"type": "object", "properties": {"a": {}, "b": {"type": "string"}}}}]
_SPELLINGS = {(f.calls, f.reasoning, f.channels): name for name, f in FAMILIES.items() if f.api is None}
_RAW = sorted(_SPELLINGS.values())
_NESTED = ["[", "{", '{"a":', '[{"name":"k","arguments":{"a":', '[{"name":"z","arguments":{"a":', '[{"arguments":[']
_UNITS = [*_NESTED, '{"name":"k","parameters":{"a":', "[k(a=", "[k(),", "</", "`", "\n<think>", "</think>", '"', "\\"]


def _units(name: str) -> list[str]:
    """Hostile units of a family: its tags alone and followed by beginnings of calls."""
    family = FAMILIES[name]
    tags = list(family.calls.openers()) if family.calls else []
    if family.channels:
        tags += [family.channels.start, f" to=k{family.channels.message}", family.channels.channel]
    if family.reasoning:
        tags += [*family.reasoning.openers[:1], *family.reasoning.closers[:1]]
    follow = ["", " x\n", "k", '{"name": "k", "arguments": {"a": ', "\n<function=k>\n<parameter=b>\nx\n"]
    return [tag + rest for tag in tags for rest in follow]


def _lines_run(text: str, family: str) -> int:
    """Lines of Python executed while *text* is labelled: a clock-free measure of work."""
    count = 0

    def trace(frame, event, argument):
        nonlocal count
        if event == "line":
            count += 1
        return trace

    parse_output("", family, _TOOLS)
    previous = sys.gettrace()
    sys.settrace(trace)
    try:
        parse_output(text, family, _TOOLS)
    finally:
        sys.settrace(previous)
    return count


def _assert_linear(unit: str, family: str, tail: str = "") -> None:
    """Twice the growth of the text may cost twice the growth of the work, and a little."""
    repeats = 1500 // len(unit)
    short, middle, long = (_lines_run(unit * n + tail, family) for n in (repeats, 2 * repeats, 4 * repeats))
    assert long - middle <= 2.3 * max(middle - short, 0) + 1500, (
        f"{family}: work is {short}, {middle}, {long} on {unit!r}"
    )


@pytest.mark.parametrize("family", _RAW)
def test_tags_that_never_form_a_call(family):
    for unit in _units(family):
        _assert_linear(unit, family)


@pytest.mark.parametrize(
    "family", ["hermes", "xlam", "llama3_json", "forced_json", "pythonic", "qwen3_coder", "gemma4"]
)
def test_nested_beginnings(family):
    for unit in _UNITS:
        _assert_linear(unit, family)
        _assert_linear(unit, family, tail="!")


@pytest.mark.parametrize("family", ["xlam", "llama3_json", "forced_json", "hermes", "granite"])
def test_a_million_brackets(family):
    spans = parse_output("[" * 1_000_000, family, _TOOLS).spans
    assert spans[-1].end == 1_000_000


def test_a_long_argument_is_one_call():
    body = 'x = \\"y\\"\\n' * 200_000
    text = f'<tool_call>\n{{"name": "k", "arguments": {{"b": "{body}"}}}}\n</tool_call>'
    parsed = parse_output(text, "hermes", _TOOLS)
    assert len(parsed.calls) == 1
    assert parsed.calls[0]["arguments"] == {"b": 'x = "y"\n' * 200_000}
