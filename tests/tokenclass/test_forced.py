"""Forced tokens of rendered outputs."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.tokenclass.sessions import one_turn
from tokenclass.forced import byte_offsets, forced_tokens
from tokenclass.formats.registry import get_family
from tokenclass.formats.schema import Tools
from tokenclass.layout import Layout
from tokenclass.outputs import OutputRun
from tokenclass.parse import parse_output
from tokenclass.tagger import Tagger
from tokenclass.tokenizers import load_tokenizer
from traces.model import Block, ReasoningBlock, TextBlock, ToolCallBlock, ToolSpec, Turn

TOOLS = (
    ToolSpec(
        name="look_up",
        parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    ),
)
CALL = ToolCallBlock(name="look_up", arguments='{"city": "Ulm"}')


def _runs(*blocks: Block) -> list[OutputRun]:
    found: list[OutputRun] = []

    def observe(_: Turn, __: int, runs: Sequence[OutputRun]) -> None:
        found.extend(runs)

    Tagger(load_tokenizer("qwen3"), Layout.named("hermes")).tag(one_turn(*blocks, tools=TOOLS), observe)
    return found


def _forced(*blocks: Block, tools: Tools) -> list[str] | None:
    tokenizer = load_tokenizer("qwen3")
    runs = _runs(*blocks)
    mask = forced_tokens(runs, get_family("hermes"), tools)
    if mask is None:
        return None
    ids = np.concatenate([run.ids for run in runs])
    assert mask.shape == ids.shape
    return [tokenizer.token_bytes(token).decode() for token in ids[mask].tolist()]


def _given() -> Tools:
    return Tools([{"name": tool.name, "parameters": tool.parameters} for tool in TOOLS])


def test_the_only_tool_and_its_only_key_are_forced() -> None:
    forced = _forced(TextBlock(text="I look."), CALL, tools=_given())
    assert forced is not None
    text = "".join(forced)
    assert "look_up" in text
    assert "city" in text
    assert "Ulm" not in text
    assert "I look." not in text


@given(prose=st.sampled_from(["", "Eine Übersicht 漢字: "]), city=st.text('Ulmé漢 "{', max_size=9))
def test_a_token_is_forced_when_all_its_characters_are(prose: str, city: str) -> None:
    """Against the forced characters of the rendered text, token by token."""
    call = ToolCallBlock(name="look_up", arguments=json.dumps({"city": city}, ensure_ascii=False))
    (run,) = _runs(*([TextBlock(text=prose)] if prose else []), call)
    mask = forced_tokens([run], get_family("hermes"), _given())
    assert mask is not None
    text = "".join(piece.text for piece in run.pieces)
    tools = [{"name": tool.name, "parameters": tool.parameters} for tool in TOOLS]
    forced = {at for start, end in parse_output(text, "hermes", tools).forced for at in range(start, end)}
    character_of_byte = [at for at, char in enumerate(text) for _ in char.encode()]
    assert run.ends is not None
    starts = [0, *run.ends[:-1].tolist()]
    expected = [
        all(character_of_byte[byte] in forced for byte in range(start, end))
        for start, end in zip(starts, run.ends.tolist(), strict=True)
    ]
    assert mask.tolist() == expected


def test_an_opener_and_an_end_of_turn_are_free() -> None:
    forced = _forced(CALL, tools=_given())
    assert forced is not None
    assert "<tool_call>" not in forced
    assert "<|im_end|>" not in forced
    assert "</tool_call>" in forced


def test_without_tools_nothing_is_known() -> None:
    assert _forced(CALL, tools=Tools([])) is None


def test_hidden_reasoning_does_not_shift_what_is_forced() -> None:
    plain = _forced(CALL, tools=_given())
    assert _forced(ReasoningBlock(tokens=40), CALL, tools=_given()) == plain


def test_a_call_of_an_unknown_tool_is_not_known() -> None:
    """The grammar takes it for prose, since no tool has that name."""
    other = Tools([{"name": "other", "parameters": {}}])
    forced = _forced(CALL, tools=other)
    assert forced is None or "other" not in "".join(forced)


def test_byte_offsets() -> None:
    text = "a漢\ud800é"
    assert byte_offsets(text, [0, 1, 2, 3, 4]).tolist() == [0, 1, 4, 7, 9]
    assert byte_offsets("abc", [1, 3]).tolist() == [1, 3]
