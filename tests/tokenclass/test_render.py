from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tokenclass.strategies import texts
from tokenclass.callformats import CALL_FORMATS, call_format
from tokenclass.classes import CLASS_OF_SUBCLASS, PositionClass, SubClass
from tokenclass.parse import parse_output
from tokenclass.pieces import Hidden, Piece
from tokenclass.render import OutputRenderer
from traces.errors import SimtoolError
from traces.model import Block, OpaqueBlock, RawBlock, ReasoningBlock, TextBlock, ToolCallBlock, ToolSpec

TOOLS = (
    ToolSpec(
        name="set_oven",
        parameters={
            "type": "object",
            "properties": {
                "program": {"type": "string", "enum": ["grill", "fan"]},
                "note": {"type": "string"},
                "celsius": {"type": "number"},
                "steps": {"type": "array", "items": {"type": "string"}},
                "lamp": {"type": "boolean"},
            },
        },
    ),
)
CALL = ToolCallBlock(name="set_oven", arguments='{"program": "fan", "note": "slow", "celsius": 90.5, "lamp": true}')


def _no_hiding(block: Block) -> Hidden:
    raise AssertionError(block)


def _render(name: str, *blocks: Block, tail: str = "", ended: bool = False) -> list[Piece]:
    renderer = OutputRenderer(call_format(name), TOOLS, prompt_tail=tail, raw_family=name)
    pieces = renderer.render(blocks, _no_hiding, ended=ended)
    return [piece for piece in pieces if isinstance(piece, Piece)]


def _text(pieces: list[Piece]) -> str:
    return "".join(piece.text for piece in pieces)


def _characters(pieces: list[Piece]) -> list[SubClass]:
    return [piece.label for piece in pieces for _ in piece.text]


def _parsed_characters(text: str, family: str, tail: str = "") -> list[SubClass]:
    specs = [{"name": tool.name, "parameters": tool.parameters} for tool in TOOLS]
    parsed = parse_output(text, family, specs, tail)
    whole = {PositionClass.R: SubClass.R, PositionClass.F: SubClass.F, PositionClass.S: SubClass.P}
    labels = [whole[span.label] for span in parsed.spans for _ in range(span.start, span.end)]
    for sub in parsed.sub:
        labels[sub.start : sub.end] = [sub.label] * (sub.end - sub.start)
    return labels


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "hermes",
            (
                '<think>\nhot\n</think>\n\nOn it.\n<tool_call>\n{"name": "set_oven", "arguments": @}\n</tool_call>'
                '\n<tool_call>\n{"name": "set_oven", "arguments": @}\n</tool_call><|im_end|>'
            ),
        ),
        (
            "qwen3_coder",
            "<think>\nhot\n</think>\n\nOn it.\n\nCALL\nCALL<|im_end|>".replace(
                "CALL",
                "<tool_call>\n<function=set_oven>\n<parameter=program>\nfan\n</parameter>\n<parameter=note>\nslow\n"
                "</parameter>\n<parameter=celsius>\n90.5\n</parameter>\n<parameter=lamp>\ntrue\n</parameter>\n"
                "</function>\n</tool_call>",
            ),
        ),
        (
            "glm45",
            "<think>\nhot\n</think>\n\nOn it.\nCALL\nCALL<|observation|>".replace(
                "CALL",
                "<tool_call>set_oven\n<arg_key>program</arg_key>\n<arg_value>fan</arg_value>\n"
                "<arg_key>note</arg_key>\n<arg_value>slow</arg_value>\n<arg_key>celsius</arg_key>\n"
                "<arg_value>90.5</arg_value>\n<arg_key>lamp</arg_key>\n<arg_value>true</arg_value>\n</tool_call>",
            ),
        ),
        (
            "mistral",
            "[THINK]hot[/THINK]On it.[TOOL_CALLS]set_oven[ARGS]@[TOOL_CALLS]set_oven[ARGS]@</s>",
        ),
        (
            "deepseek_v31",
            "<think>hot</think>On it.<｜tool▁calls▁begin｜>CALLCALL<｜tool▁calls▁end｜><｜end▁of▁sentence｜>".replace(
                "CALL", "<｜tool▁call▁begin｜>set_oven<｜tool▁sep｜>@<｜tool▁call▁end｜>"
            ),
        ),
        (
            "openai_harmony",
            "<|channel|>analysis<|message|>hot<|end|><|start|>assistant<|channel|>commentary<|message|>On it.<|end|>"
            "CALLCALL".replace(
                "CALL",
                "<|start|>assistant<|channel|>commentary to=functions.set_oven <|constrain|>json<|message|>@<|call|>",
            ),
        ),
    ],
)
def test_layout_of_each_format(name: str, expected: str) -> None:
    pieces = _render(name, ReasoningBlock(text="hot"), TextBlock(text="On it."), CALL, CALL, ended=True)
    assert _text(pieces) == expected.replace("@", CALL.arguments)


@pytest.mark.parametrize("name", CALL_FORMATS)
def test_labels_agree_with_the_parser(name: str) -> None:
    """The parser, which knows nothing of how the text was made, finds the same labels in it."""
    pieces = _render(name, ReasoningBlock(text="hot"), TextBlock(text="On it."), CALL, CALL)
    assert _characters(pieces) == _parsed_characters(_text(pieces), name)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("name", ["hermes", "mistral", "llama3_json"])
@settings(max_examples=80, deadline=None)
@given(arguments=st.dictionaries(st.text(max_size=6), json_values, max_size=4), escaped=st.booleans())
def test_any_json_arguments_agree_with_the_parser(name: str, arguments: dict[str, object], escaped: bool) -> None:
    recorded = json.dumps(arguments, ensure_ascii=escaped)
    pieces = _render(name, ToolCallBlock(name="set_oven", arguments=recorded))
    assert recorded in _text(pieces)
    assert _characters(pieces) == _parsed_characters(_text(pieces), name)


def test_sub_classes_of_arguments() -> None:
    pieces = _render("hermes", CALL)
    labelled = {piece.text: piece.label for piece in pieces}
    assert labelled["set_oven"] is SubClass.N
    assert labelled["program"] is labelled["arguments"] is SubClass.K
    assert labelled["fan"] is labelled["90.5"] is labelled["true"] is SubClass.V
    assert labelled["slow"] is SubClass.T
    assert labelled["<tool_call>"] is SubClass.D


@pytest.mark.parametrize("name", CALL_FORMATS)
@pytest.mark.parametrize("arguments", ['{"path": "a', "*** Begin Patch", '{"a": 1} trailing'])
def test_text_that_is_not_json_is_one_free_string(name: str, arguments: str) -> None:
    pieces = _render(name, ToolCallBlock(name="set_oven", arguments=arguments))
    assert [piece.text for piece in pieces if piece.label is SubClass.T] == [arguments]


def test_free_form_text_is_not_read_as_json() -> None:
    pieces = _render("hermes", ToolCallBlock(name="patch", arguments='{"a": 1}', free_form=True))
    assert [piece.text for piece in pieces if piece.label is SubClass.T] == ['{"a": 1}']


def test_absent_arguments_are_an_empty_object() -> None:
    assert '"arguments": {}}' in _text(_render("hermes", ToolCallBlock(name="set_oven")))


def test_quoted_special_tokens_are_not_marked() -> None:
    pieces = _render("hermes", TextBlock(text="write <tool_call> first"), CALL)
    assert [piece.marked for piece in pieces if "<tool_call>" in piece.text] == [False, True]


def test_tail_that_opens_the_reasoning_is_not_repeated() -> None:
    blocks = (ReasoningBlock(text="hot"), TextBlock(text="Done."))
    assert _text(_render("hermes", *blocks, tail="<think>\n")) == "hot\n</think>\n\nDone."
    empty = "<think>\n\n</think>\n\n"
    assert _text(_render("hermes", *blocks, tail=empty)).startswith("<think>\nhot")


@pytest.mark.parametrize(
    ("blocks", "label"),
    [
        ((CALL,), SubClass.D),
        ((TextBlock(text="Done."),), SubClass.F),
        ((ReasoningBlock(text="hot"),), SubClass.R),
        ((), SubClass.F),
    ],
)
def test_end_of_turn_goes_with_what_precedes_it(blocks: tuple[Block, ...], label: SubClass) -> None:
    end = _render("hermes", *blocks, ended=True)[-1]
    assert (end.text, end.label) == ("<|im_end|>", label)


def test_raw_text_is_kept_and_parsed() -> None:
    raw = "<think>\nhot\n</think>\n\nOn it.\n" + _text(_render("hermes", CALL)) + "<|im_end|>"
    pieces = _render("hermes", RawBlock(text=raw), ended=True)
    assert _text(pieces) == raw
    assert _characters(pieces) == _parsed_characters(raw, "hermes")


def test_blocks_without_text_stand_where_they_stood() -> None:
    hidden = Hidden(3, None, "key")
    renderer = OutputRenderer(call_format("hermes"))
    pieces = renderer.render((TextBlock(text="a"), OpaqueBlock(tokens=3)), lambda _: hidden, ended=False)
    assert [getattr(piece, "text", piece) for piece in pieces] == ["a", hidden]


@settings(max_examples=60, deadline=None)
@given(prose=texts, thought=texts)
def test_recorded_text_is_never_changed(prose: str, thought: str) -> None:
    """White space at the joints apart, every recorded character is in the output once, under its class."""
    pieces = _render("mistral", ReasoningBlock(text=thought), TextBlock(text=prose), CALL)
    by_class = dict.fromkeys(PositionClass, "")
    for piece in pieces:
        by_class[CLASS_OF_SUBCLASS[piece.label]] += piece.text
    assert by_class[PositionClass.F] == prose
    assert by_class[PositionClass.R] == f"[THINK]{thought}[/THINK]"


def test_unknown_format_suggests_the_nearest() -> None:
    with pytest.raises(SimtoolError, match="did you mean 'hermes'"):
        call_format("hermess")
