"""Draws JSON values and tool arguments."""

from __future__ import annotations

import json

from scenarios.synth.empirical import Source
from scenarios.synth.model import ToolModel, ValueModel
from scenarios.synth.words import Vocabulary
from traces.model import ToolCallBlock

_JOINTS = {"path": "/", "identifier": "_"}
_MAX_DIGITS = 15


def call(tool: ToolModel, vocabulary: Vocabulary, source: Source, call_id: str | None) -> ToolCallBlock:
    """A call of *tool* with drawn arguments."""
    if tool.free_form_share and source.unit() < tool.free_form_share:
        text = vocabulary.prose(source, max(1, source.length(tool.free_form_tokens)))
        return ToolCallBlock(name=tool.name, arguments=text, call_id=call_id, free_form=True)
    arguments = value(tool.arguments, vocabulary, source)
    compact = tool.compact_share > 0 and source.unit() < tool.compact_share
    text = json.dumps(arguments, separators=(",", ":") if compact else None)
    return ToolCallBlock(name=tool.name, arguments=text, call_id=call_id)


def value(model: ValueModel, vocabulary: Vocabulary, source: Source) -> object:
    """One JSON value of *model*."""
    kind = model.kinds.at(source.unit())
    if kind == "string":
        return _string(model, vocabulary, source)
    if kind == "object":
        return {
            member.key: value(member.value, vocabulary, source)
            for member in model.members
            if member.share >= 1 or source.unit() < member.share
        }
    if kind == "array":
        if model.item is None:
            return []
        return [value(model.item, vocabulary, source) for _ in range(source.length(model.items))]
    if kind in ("integer", "number"):
        return _number(model, source, whole=kind == "integer")
    return None if kind == "null" else source.unit() < 0.5


def _string(model: ValueModel, vocabulary: Vocabulary, source: Source) -> str:
    if model.enum is not None:
        return model.enum.at(source.unit())
    tokens = source.length(model.string_tokens)
    style = model.styles.at(source.unit()) if model.styles is not None else "words"
    if style == "words":
        return vocabulary.prose(source, tokens)
    return vocabulary.joined(source, tokens, _JOINTS[style])


def _number(model: ValueModel, source: Source, *, whole: bool) -> int | float:
    digits = min(_MAX_DIGITS, max(1, source.length(model.digits) if model.digits is not None else 2))
    power: int = 10 ** (digits - 1)
    number = (power if digits > 1 else 0) + int(source.unit() * 9 * power)
    return number if whole else number / 10 + 0.5
