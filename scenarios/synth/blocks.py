"""An output as reasoning, prose and calls, whatever form it was recorded in."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from tokenclass.classes import PositionClass
from tokenclass.parse import parse_output
from traces.model import Attempt, Block, RawBlock, ReasoningBlock, TextBlock, ToolCallBlock, ToolSpec


def spoken_blocks(attempt: Attempt, tools: Sequence[ToolSpec], raw_family: str | None) -> list[Block]:
    """The blocks of *attempt*, completion text of the format *raw_family* parsed into reasoning, prose and calls.

    Completion text stays prose where no format is known.
    """
    found: list[Block] = []
    for block in attempt.output:
        if isinstance(block, RawBlock):
            found += _parsed(block.text, tools, raw_family)
        else:
            found.append(block)
    return found


def _parsed(text: str, tools: Sequence[ToolSpec], family: str | None) -> list[Block]:
    if family is None:
        return [TextBlock(text=text)]
    known = [{"name": tool.name, "parameters": tool.parameters} for tool in tools]
    parsed = parse_output(text, family, known)
    blocks: list[Block] = []
    calls = [
        ToolCallBlock(name=str(call["name"]), arguments=_json(call.get("arguments")))
        for call in parsed.calls
        if call.get("name")
    ]
    for span in parsed.spans:
        part = text[span.start : span.end]
        if span.label is PositionClass.R:
            blocks.append(ReasoningBlock(text=part))
        elif span.label is PositionClass.F and part.strip():
            blocks.append(TextBlock(text=part))
        elif span.label is PositionClass.S:
            blocks += calls
            calls = []
    return blocks


def _json(arguments: object) -> str:
    return arguments if isinstance(arguments, str) else orjson.dumps(arguments, default=str).decode()
