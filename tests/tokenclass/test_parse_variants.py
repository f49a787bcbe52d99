"""Spellings, damage and quoting that the formats allow, each a completion written for this test."""

from __future__ import annotations

import pytest

from tokenclass.classes import PositionClass
from tokenclass.parse import parse_output

_TOOLS = [
    {"name": "get_clock", "parameters": {"type": "object", "properties": {"tz": {"type": "string"}}}},
    {
        "name": "run",
        "parameters": {"type": "object", "properties": {"cmd": {"type": "string"}, "limit": {"type": "integer"}}},
    },
    {"name": "halt", "parameters": {"type": "object", "properties": {}}},
    {
        "name": "draw",
        "parameters": {
            "type": "object",
            "properties": {
                "at": {"type": "array", "items": {"type": "number"}},
                "pen": {"type": "object", "properties": {"ink": {"type": "string"}}},
            },
        },
    },
]
_QWEN = "<tool_call>\n<function=run>\n{}</function>\n</tool_call>"
_CLOCK = [{"name": "get_clock", "arguments": {"tz": "UTC"}}]
_M3 = "]<]minimax[>["

CASES = {
    "no arguments member": ("hermes", '<tool_call>\n{"name": "halt"}\n</tool_call>', "S", [("halt", {})]),
    "arguments as a string": (
        "hermes", '<tool_call>\n{"name": "get_clock", "arguments": "{\\"tz\\": \\"UTC\\"}"}\n</tool_call>', "S",
        [("get_clock", {"tz": "UTC"})],
    ),
    "tag names in prose": ("qwen3", "Use `<tool_call>` and </tool_call> tags.", "F", []),
    "quoted call": ("qwen3", 'Write `<tool_call>{"name": "halt"}</tool_call>` there.', "F", []),
    "nested parameter pair is data": (
        "qwen3_coder",
        _QWEN.format("<parameter=cmd>\ncat <<E\n<parameter=limit>\n5\n</parameter>\nE\n</parameter>\n"), "S",
        [("run", {"cmd": "cat <<E\n<parameter=limit>\n5\n</parameter>\nE"})],
    ),
    "dropped parameter closer": (
        "qwen3_coder", _QWEN.format("<parameter=cmd>\nls\n<parameter=limit>\n3\n</parameter>\n"), "S",
        [("run", {"cmd": "ls", "limit": 3})],
    ),
    "dropped last parameter closer": (
        "qwen3_coder", _QWEN.format("<parameter=cmd>\nls\n"), "S", [("run", {"cmd": "ls"})],
    ),
    "value newlines beyond one are data": (
        "qwen3_coder", _QWEN.format("<parameter=cmd>\n\nls\n\n</parameter>\n"), "S", [("run", {"cmd": "\nls\n"})],
    ),
    "call without wrapper": (
        "qwen3_coder", "<function=run>\n<parameter=cmd>\nls\n</parameter>\n</function>", "S", [("run", {"cmd": "ls"})],
    ),
    "digits of a string stay a string": (
        "glm45", "<tool_call>run\n<arg_key>cmd</arg_key>\n<arg_value>0012</arg_value>\n</tool_call>", "S",
        [("run", {"cmd": "0012"})],
    ),
    "outer blanks of a value are data": (
        "glm45", "<tool_call>run\n<arg_key>cmd</arg_key>\n<arg_value>  ls </arg_value>\n</tool_call>", "S",
        [("run", {"cmd": "  ls "})],
    ),
    "tags inside a value": (
        "glm47",
        ("<tool_call>run<arg_key>cmd</arg_key><arg_value>a <arg_key>k</arg_key><arg_value>v</arg_value> b"
        "</arg_value></tool_call>"), "S",
        [("run", {"cmd": "a <arg_key>k</arg_key><arg_value>v</arg_value> b"})],
    ),
    "call without arguments": ("glm47", "<tool_call>halt</tool_call>", "S", [("halt", {})]),
    "unquoted and single-quoted names": (
        "minimax_m2",
        ("<minimax:tool_call>\n<invoke name=run>\n<parameter name='limit'>3</parameter>\n</invoke>\n"
        "</minimax:tool_call>"), "S", [("run", {"limit": 3})],
    ),
    "nested elements": (
        "minimax_m3",
        (f'{_M3}<tool_call>\n{_M3}<invoke name="draw">\n{_M3}<at>{_M3}<item>1{_M3}</item>{_M3}<item>2.5{_M3}</item>'
        f"{_M3}</at>\n{_M3}<pen>{_M3}<ink>red{_M3}</ink>{_M3}</pen>\n{_M3}</invoke>\n{_M3}</tool_call>"), "S",
        [("draw", {"at": [1, 2.5], "pen": {"ink": "red"}})],
    ),
    "section name without underscore": (
        "deepseek_v32",
        ('<｜DSML｜function calls>\n<｜DSML｜invoke name="run">\n<｜DSML｜parameter name="limit" string="false">3'
        "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function calls>"), "S", [("run", {"limit": 3})],
    ),
    "tag suffix": (
        "hy_v3",
        ("<tool_calls:x1>\n<tool_call:x1>run<tool_sep:x1>\n<arg_key:x1>limit</arg_key:x1>\n<arg_value:x1>3"
        "</arg_value:x1>\n</tool_call:x1>\n</tool_calls:x1>"), "S", [("run", {"limit": 3})],
    ),
    "JSON calls in tagged elements": (
        "k2_horizon",
        ('<ifm|tool_calls>\n<ifm|tool_call>{"name": "get_clock", "arguments": {"tz": "UTC"}}</ifm|tool_call>\n'
        "</ifm|tool_calls>"), "S", [("get_clock", {"tz": "UTC"})],
    ),
    "JSON body in the wrapper": (
        "dots", '<dots_function_call>\n{"name": "get_clock", "arguments": {"tz": "UTC"}}\n</dots_function_call>', "S",
        [("get_clock", {"tz": "UTC"})],
    ),
    "escaped attribute": (
        "kimi_k3",
        ('<|open|>tools<|sep|><|open|>call tool="run" index="1"<|sep|><|open|>argument key="a&quot;b" type="string"'
        "<|sep|>x<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>"), "S", [("run", {'a"b': "x"})],
    ),
    "fenced array": (
        "xlam", '```json\n[{"name": "halt", "arguments": {}}]\n```', "S", [("halt", {})],
    ),
    "array of unknown tools": ("xlam", '[{"name": "fly", "arguments": {}}]', "F", []),
    "the word functools": ("phi4_mini", "Use functools [docs] for that.", "F", []),
    "special-token spelling": (
        "phi4_mini", '<|tool_call|>[{"name": "halt", "arguments": {}}]<|/tool_call|>', "S", [("halt", {})],
    ),
    "JSON list in the list's place": (
        "lfm2", '<|tool_call_start|>[{"name": "halt", "arguments": {}}]<|tool_call_end|>Done', "SF", [("halt", {})],
    ),
    "call id between name and arguments": (
        "mistral", '[TOOL_CALLS]get_clock[CALL_ID]a1B2c3D4e[ARGS]{"tz": "UTC"}', "S", [("get_clock", {"tz": "UTC"})],
    ),
    "counter without function prefix": (
        "kimi_k2",
        ("<|tool_calls_section_begin|><|tool_call_begin|>get_clock:12<|tool_call_argument_begin|>"
        '{"tz": "UTC"}<|tool_call_end|><|tool_calls_section_end|>'), "S", [("get_clock", {"tz": "UTC"})],
    ),
    "delimiter tokens inside a string": (
        "gemma4", '<|tool_call>call:run{cmd:<|"|>say <|"|>hi<|"|> now<|"|>,limit:5}<tool_call|>', "S",
        [("run", {"cmd": 'say <|"|>hi<|"|> now', "limit": 5})],
    ),
    "answer wrapper": (
        "hunyuan_a13b",
        '<think>\nx\n</think>\n<answer>\n<tool_calls>[{"name": "halt", "arguments": {}}]</tool_calls>\n</answer>',
        "RFSF", [("halt", {})],
    ),
    "call inside the inner block": (
        "apertus", '<|inner_prefix|>a<|tools_prefix|>[{"halt": {}}]<|tools_suffix|>b<|inner_suffix|>c', "RSRF",
        [("halt", {})],
    ),
    "raw code body": (
        "openai_harmony", "<|channel|>analysis to=python code<|message|>print(1)<|call|>", "S",
        [("python", {"": "print(1)"})],
    ),
    "header in the middle of nowhere": ("openai_harmony", "Hm. <|channel|>final<|message|>Hello<|return|>", "F", []),
    "raw text tool": (
        "inkling", "<|message_model|><|content_invoke_tool_text|>go<|end_message|>", "S", [("", {"text": "go"})],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_variant(name):
    family, text, classes, calls = CASES[name]
    parsed = parse_output(text, family, _TOOLS, "<none>")
    assert "".join(span.label.name for span in parsed.spans) == classes
    assert [(call["name"], call["arguments"]) for call in parsed.calls] == calls


@pytest.mark.parametrize(
    ("family", "prompt_tail", "text", "classes"),
    [
        ("qwen3", "<think>\n", "no end tag", "R"),
        ("qwen3", "", "no tags at all", "F"),
        ("step3p5", "", "no end tag", "R"),
        ("qwen3", "", "hm\n</think>\n\nyes", "RF"),
        ("qwen3", "", "The tag `</think>` ends it.", "F"),
        ("qwen3", "<think>\n\n</think>\n\n", "yes", "F"),
        ("qwen3", "x", "a\n```\n<think>\nb\n</think>\n```\nc", "F"),
        ("kimi_k3", "<|open|>think<|sep|>", "yes<|close|>response<|sep|>", "F"),
        ("kimi_k3", "<|open|>think<|sep|>", "hm, cut", "R"),
        ("granite", "", "Here's my thought process: a. Here's my response: b", "RF"),
        ("granite", "", "I said: Here is my thought process: a", "F"),
        ("cohere_command4", "<|START_THINKING|>", "hm<|END_THINKING|><|START_TEXT|>yes<|END_TEXT|>", "RF"),
        ("k2_horizon", "<ifm|think_faster>", "hm</ifm|think_faster>\nyes", "RF"),
    ],
)
def test_reasoning(family, prompt_tail, text, classes):
    spans = parse_output(text, family, _TOOLS, prompt_tail).spans
    assert "".join(span.label.name for span in spans) == classes


def test_a_draft_call_is_reasoning_unless_the_call_token_ends_it():
    text = 'a <tool_call>{"name": "halt", "arguments": {}}</tool_call> b</think>c'
    strict = parse_output(text, "qwen3", _TOOLS, "<think>")
    early = parse_output(text, "qwen3", _TOOLS, "<think>", reasoning_end="tool-token")
    assert [span.label for span in strict.spans] == [PositionClass.R, PositionClass.F]
    assert [span.label for span in early.spans] == [PositionClass.R, PositionClass.S, PositionClass.F]
    assert (strict.calls, early.calls) == ([], [{"name": "halt", "arguments": {}}])


def test_an_end_tag_inside_the_argument_of_an_open_call_does_not_end_the_reasoning():
    text = 'a\n<tool_call>{"name": "run", "arguments": {"cmd": "x </think> y"}}</tool_call>'
    parsed = parse_output(text, "qwen3", _TOOLS, "<think>\n")
    assert [span.label for span in parsed.spans] == [PositionClass.R, PositionClass.S]


def test_a_stated_tool_choice_names_bare_arguments():
    parsed = parse_output('{"zone": 1}', "forced_json", _TOOLS, tool_choice="water")
    assert parsed.calls == [{"name": "water", "arguments": {"zone": 1}}]


@pytest.mark.parametrize("family", ["hermes", "glm45", "mistral", "openai_harmony"])
def test_the_empty_text_has_no_spans(family):
    assert parse_output("", family).spans == []
