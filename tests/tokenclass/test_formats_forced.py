"""Which characters of a call count as forced by its grammar and schema."""

from __future__ import annotations

import pytest

from tokenclass.formats.sink import Sink, forced_choice
from tokenclass.parse import parse_output

_TOOLS = [
    {
        "name": "set_mode",
        "parameters": {
            "type": "object",
            "properties": {"mode": {"type": "string", "enum": ["slow", "sharp", "fast"]}, "note": {"type": "string"}},
            "required": ["mode"],
        },
    },
    {"name": "set_alarm", "parameters": {"type": "object", "properties": {"at": {"type": "integer"}}}},
]


def _marked(text: str, family: str, tools=_TOOLS) -> str:
    """The text with forced characters kept and the others as dots."""
    forced = {at for start, end in parse_output(text, family, tools).forced for at in range(start, end)}
    return "".join(char if at in forced else "." for at, char in enumerate(text))


@pytest.mark.parametrize(
    ("chosen", "options", "forced", "end"),
    [
        ("slow", ["slow", "sharp", "fast"], ["low"[1:]], True),
        ("fast", ["slow", "fast"], ["ast"], True),
        ("get", ["get", "get_all"], ["get"], False),
        ("get_all", ["get", "get_all"], ["get", "all"], True),
        ("only", ["only"], ["only"], True),
        ("other", ["one"], [], False),
    ],
)
def test_forced_choice(chosen, options, forced, end):
    sink = Sink(schema_known=True)
    assert forced_choice(sink, 0, chosen, options) is end
    assert [chosen[a:b] for a, b in sink.forced(len(chosen))] == forced


def test_json_call():
    text = '<tool_call>\n{"name": "set_mode", "arguments": {"mode": "slow", "note": "hi"}}\n</tool_call>'
    marked = _marked(text, "hermes")
    assert marked.startswith(".tool_call>")
    assert marked.endswith("</tool_call>")
    name = text.index("set_mode")
    assert marked[name : name + 8] == "set_.ode"
    value = text.index("slow")
    assert marked[value : value + 5] == '..ow"'
    key = text.index('"mode"')
    assert marked[key : key + 9] == '".ode": "'
    last_key = text.index("note")
    assert marked[last_key : last_key + 8] == 'note": "'
    free = text.index("hi")
    assert marked[free : free + 4] == "...}"


def test_markup_call():
    text = "<tool_call>\n<function=set_alarm>\n<parameter=at>\n7\n</parameter>\n</function>\n</tool_call>"
    marked = _marked(text, "qwen3_coder")
    assert "set_.larm>" in marked
    assert "<.arameter=at>" in marked
    assert marked[text.index("7")] == "."
    assert marked.endswith("</function>.<.tool_call>")


def test_without_tools_only_delimiters_are_forced():
    text = '<tool_call>\n{"name": "set_mode", "arguments": {"mode": "slow"}}\n</tool_call>'
    assert _marked(text, "hermes", None) == ".tool_call>" + "." * (len(text) - 23) + "</tool_call>"


def test_prose_and_reasoning_hold_no_forced_run():
    assert parse_output("<think>\nx\n</think>\n\nyes", "qwen3", _TOOLS).forced == []
