"""Calls and arguments found in labelled pieces: against the calls that were rendered."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenclass.callformats import CALL_FORMATS
from tokenclass.callparts import call_parts
from tokenclass.classes import CLASS_OF_SUBCLASS, PositionClass
from tokenclass.layout import Layout
from tokenclass.pieces import Hidden, Piece
from tokenclass.render import OutputRenderer
from traces.model import Block, RawBlock, TextBlock, ToolCallBlock

_KEYS = st.text("abcxyz_", min_size=1, max_size=6)
_STRINGS = st.text('ab"{}[],:<>/\\\n é漢', max_size=12)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | _STRINGS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_KEYS, inner, max_size=2),
    max_leaves=5,
)
_CALLS = st.lists(
    st.tuples(st.sampled_from(["look_up", "b", "look"]), st.dictionaries(_KEYS, _VALUES, max_size=3)),
    min_size=1,
    max_size=3,
)


def _no_hidden(block: Block) -> Hidden:
    raise AssertionError(block)


def _pieces(name: str, *blocks: Block, raw_family: str | None = None) -> list[Piece]:
    renderer = OutputRenderer(Layout.named(name).form, raw_family=raw_family)
    return [piece for piece in renderer.render(blocks, _no_hidden) if isinstance(piece, Piece)]


@pytest.mark.parametrize("name", CALL_FORMATS)
@given(calls=_CALLS, before=st.sampled_from(["", "Well."]))
def test_each_call_and_argument_is_found_once(name: str, calls: list[tuple[str, dict]], before: str) -> None:
    blocks: list[Block] = [ToolCallBlock(name=tool, arguments=json.dumps(values)) for tool, values in calls]
    pieces = _pieces(name, *([TextBlock(text=before)] if before else []), *blocks)
    tools, parts = call_parts(pieces)
    assert tools == [tool for tool, _ in calls]
    for number, (_, values) in enumerate(calls):
        keys = [part.key for part in parts if part.call == number and part.key is not None]
        assert keys == [json.dumps(key)[1:-1] for key in values]


@pytest.mark.parametrize("name", CALL_FORMATS)
@given(calls=_CALLS)
def test_parts_cover_exactly_the_calls(name: str, calls: list[tuple[str, dict]]) -> None:
    blocks = [ToolCallBlock(name=tool, arguments=json.dumps(values)) for tool, values in calls]
    pieces = _pieces(name, TextBlock(text="é before"), *blocks, TextBlock(text="after"))
    covered = [at for part in call_parts(pieces)[1] for at in range(part.start, part.end)]
    expected: list[int] = []
    at = 0
    for piece in pieces:
        if CLASS_OF_SUBCLASS[piece.label] is PositionClass.S:
            expected += range(at, at + len(piece.text))
        at += len(piece.text)
    assert covered == expected


@pytest.mark.parametrize("name", CALL_FORMATS)
def test_calls_are_cut_between_closer_and_opener(name: str) -> None:
    """Each call but the last is written alike alone and among others, what stands between them apart."""
    alone = ToolCallBlock(name="look_up", arguments='{"city": "Ulm"}')
    pieces = _pieces(name, alone, alone, alone)
    text = "".join(piece.text for piece in pieces)
    _, parts = call_parts(pieces)
    calls = ["".join(text[part.start : part.end] for part in parts if part.call == number) for number in range(3)]
    form = CALL_FORMATS[name]
    opening = "".join(part.text for part in form.before_calls if isinstance(part, Piece))
    assert calls[0].removeprefix(opening) == calls[1]
    assert calls[2].startswith(calls[1][: len(calls[1]) // 2])


def test_nested_keys_belong_to_the_outer_argument() -> None:
    call = ToolCallBlock(name="book", arguments='{"legs": [{"from": "A", "to": {"city": "B"}}], "n": 2}')
    pieces = _pieces("hermes", call)
    text = "".join(piece.text for piece in pieces)
    arguments = [(part.key, text[part.start : part.end]) for part in call_parts(pieces)[1] if part.key]
    assert arguments == [("legs", 'legs": [{"from": "A", "to": {"city": "B"}}], "'), ("n", 'n": 2')]


def test_recorded_text_is_read_alike() -> None:
    """The same calls as recorded completion text, which comes without the recording's blocks."""
    calls = [
        ToolCallBlock(name="look_up", arguments='{"city": "Ulm", "days": [1, 2]}'),
        ToolCallBlock(name="stop", arguments="{}"),
    ]
    for name in ("hermes", "qwen3_coder", "glm45", "deepseek_v31"):
        rendered = _pieces(name, TextBlock(text="Well."), *calls)
        raw = RawBlock(text="".join(piece.text for piece in rendered))
        assert call_parts(_pieces(name, raw, raw_family=name)) == call_parts(rendered)


def test_a_group_without_a_name_is_one_call() -> None:
    tools, parts = call_parts(_pieces("hermes", RawBlock(text="Well.\n<tool_call>"), raw_family="hermes"))
    assert tools == [None]
    assert {part.key for part in parts} == {None}
