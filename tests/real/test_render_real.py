"""Rendering against recorded and hand-labelled outputs of the same formats."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.shared import SHARED
from tokenclass.callformats import CALL_FORMATS, call_format
from tokenclass.classes import PositionClass, SubClass
from tokenclass.pieces import Piece
from tokenclass.render import OutputRenderer
from traces.model import Block, ReasoningBlock, TextBlock, ToolCallBlock, ToolSpec


def _cases(family: str) -> list[dict[str, Any]]:
    lines = (SHARED / "format_cases.jsonl").read_text(encoding="utf-8").splitlines()
    cases = [json.loads(line) for line in lines]
    return [case for case in cases if case["family"] == family and not case["truncated"] and case["calls"]]


def _blocks(case: dict[str, Any]) -> list[Block]:
    form = call_format(case["family"])
    blocks: list[Block] = []
    for start, end, label in case["spans"]:
        text = case["text"][start:end]
        if label == "R":
            opening, closing = form.reasoning_open, form.reasoning_close
            blocks.append(ReasoningBlock(text=text.removeprefix(opening).removesuffix(closing).removesuffix("\n")))
        elif label == "F":
            text = text.removeprefix(form.message_open)
            for opening, closing in (form.prose, form.preamble):
                text = text.removeprefix(opening).removesuffix(closing)
            blocks.append(TextBlock(text=text.removesuffix(form.prose_to_call)))
        else:
            blocks += [_call(call, text) for call in case["calls"]]
    return blocks


def _call(call: dict[str, Any], text: str) -> ToolCallBlock:
    spellings = (json.dumps(call["arguments"], ensure_ascii=False), json.dumps(call["arguments"]))
    arguments = next((spelling for spelling in spellings if spelling in text), spellings[0])
    return ToolCallBlock(name=call["name"], arguments=arguments)


@pytest.mark.parametrize(("family", "least"), [(name, 3) for name in CALL_FORMATS if name != "llama3_json"])
def test_rendering_reproduces_labelled_outputs(family: str, least: int) -> None:
    """Where a case is written the way the format's template writes it, its text and every label come out."""
    reproduced = 0
    for case in _cases(family):
        if sum(label == "S" for _, _, label in case["spans"]) != 1:
            continue
        tools = tuple(ToolSpec(name=tool["name"], parameters=tool["parameters"]) for tool in case["tools"])
        renderer = OutputRenderer(call_format(family), tools, prompt_tail=case["prompt_tail"])
        pieces = [
            piece
            for piece in renderer.render(_blocks(case), lambda block: pytest.fail(str(block)), ended=False)
            if isinstance(piece, Piece)
        ]
        if "".join(piece.text for piece in pieces) != case["text"]:
            continue
        reproduced += 1
        whole = {PositionClass.R.name: SubClass.R, PositionClass.F.name: SubClass.F}
        expected = [whole.get(label) for start, end, label in case["spans"] for _ in range(start, end)]
        for start, end, label in case["sub"]:
            expected[start:end] = [SubClass[label]] * (end - start)
        assert [piece.label for piece in pieces for _ in piece.text] == expected, case["id"]
    assert reproduced >= least
