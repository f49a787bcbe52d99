"""Labels by recorded API blocks: Anthropic messages, OpenAI chat completions and OpenAI responses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tokenclass.classes import PositionClass, SubClass, SubSpan
from tokenclass.formats.boundary import Segment
from tokenclass.formats.cursor import Cursor, NotTheGrammar, TextCut
from tokenclass.formats.family import Api
from tokenclass.formats.schema import Json, Tools
from tokenclass.formats.sink import forced_choice
from tokenclass.formats.wrapper import decoded

_CALL_TYPES = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_REASONING_KEYS = ("reasoning_content", "reasoning")


class _Piece(NamedTuple):
    label: PositionClass
    text: str = ""
    """Payload of reasoning or prose, or a call's arguments as written; empty if the spelling is not recorded."""
    name: str = ""
    arguments: object = None
    raw: bool = False
    """Whether a call's input is free text."""


def label_blocks(text: str, api: Api, blocks: Sequence[Json], tools: Tools) -> list[Segment]:
    """Segments of *text*, which is the blocks' payloads joined in order, a call as its name and its arguments.

    Raises ValueError where the text and the blocks differ.
    """
    segments: list[Segment] = []
    pos = 0
    for piece in _PIECES[api](blocks):
        segment = _call(text, pos, piece, tools) if piece.label is PositionClass.S else _plain(text, pos, piece)
        if segment.end > segment.start:
            segments.append(segment)
        pos = segment.end
    if pos != len(text):
        raise ValueError(f"text goes on at offset {pos} after the last block: {text[pos : pos + 40]!r}")
    return segments


def _plain(text: str, pos: int, piece: _Piece) -> Segment:
    _expect(text, pos, piece.text)
    return Segment(pos, pos + len(piece.text), piece.label)


def _expect(text: str, pos: int, payload: str) -> None:
    if not text.startswith(payload, pos):
        raise ValueError(
            f"text differs from the recorded blocks at offset {pos}: {text[pos : pos + 40]!r} is not {payload[:40]!r}"
        )


def _call(text: str, pos: int, piece: _Piece, tools: Tools) -> Segment:
    _expect(text, pos, piece.name + piece.text)
    cur = Cursor(text, pos + len(piece.name), tools)
    cur.sink.add(pos, cur.pos, SubClass.N)
    forced_choice(cur.sink, pos, piece.name, tools.names)
    if piece.text:
        cur.end = cur.pos + len(piece.text)
    start = cur.pos
    if piece.raw:
        cur.sink.add(start, cur.end, SubClass.T)
        cur.pos = cur.end
        cur.add_call(piece.name, piece.arguments)
    elif piece.text or piece.arguments is not None:
        _arguments(cur, piece, tools)
    if piece.text and cur.pos < cur.end:
        cur.sink.add(cur.pos, cur.end, SubClass.T)
        cur.pos = cur.end
    subs: tuple[SubSpan, ...] = tuple(cur.sink.subs())
    return Segment(pos, cur.pos, PositionClass.S, subs, tuple(cur.calls), tuple(cur.sink.forced(cur.pos)))


def _arguments(cur: Cursor, piece: _Piece, tools: Tools) -> None:
    """Read the JSON arguments; a cut or broken object gives no call."""
    try:
        value = cur.literal(tools.shape(piece.name))
    except (TextCut, NotTheGrammar):
        return
    cur.add_call(piece.name, decoded(value))


def _anthropic(blocks: Sequence[Json]) -> Iterator[_Piece]:
    for block in blocks:
        kind = block.get("type")
        if kind == "thinking":
            yield _Piece(PositionClass.R, _text(block.get("thinking")))
        elif kind == "text":
            yield _Piece(PositionClass.F, _text(block.get("text")))
        elif kind in _CALL_TYPES:
            yield _Piece(PositionClass.S, name=_text(block.get("name")), arguments=block.get("input"))
        elif kind != "redacted_thinking":
            raise ValueError(f"unknown Anthropic block type {kind!r}")


def _chat(blocks: Sequence[Json]) -> Iterator[_Piece]:
    for message in blocks:
        for key in _REASONING_KEYS:
            if message.get(key):
                yield _Piece(PositionClass.R, _text(message[key]))
                break
        yield _Piece(PositionClass.F, _text(message.get("content")))
        for call in _list(message.get("tool_calls")):
            yield _openai_call(call.get("function", call.get("custom")))
        if message.get("function_call"):
            yield _openai_call(message["function_call"])


def _openai_call(function: object) -> _Piece:
    if not isinstance(function, Mapping):
        raise ValueError(f"tool call without a `function` object: {function!r}")
    if "input" in function:
        body = _text(function["input"])
        return _Piece(PositionClass.S, body, _text(function.get("name")), {"input": body}, raw=True)
    return _Piece(PositionClass.S, _text(function.get("arguments")), _text(function.get("name")))


def _responses(blocks: Sequence[Json]) -> Iterator[_Piece]:
    for item in blocks:
        kind = item.get("type")
        if kind == "reasoning":
            parts = [*_list(item.get("summary")), *_list(item.get("content"))]
            yield _Piece(PositionClass.R, "".join(_text(part.get("text")) for part in parts))
        elif kind == "message":
            for part in _list(item.get("content")):
                yield _Piece(PositionClass.F, _text(part.get("text", part.get("refusal"))))
        elif kind in ("function_call", "custom_tool_call"):
            yield _openai_call(item)
        else:
            raise ValueError(f"unknown Responses item type {kind!r}")


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, Iterable):
        return "".join(_text(part.get("text")) for part in value if isinstance(part, Mapping))
    raise ValueError(f"expected a text, found {value!r}")


def _list(value: object) -> list[Json]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


_PIECES = {Api.ANTHROPIC_MESSAGES: _anthropic, Api.OPENAI_CHAT: _chat, Api.OPENAI_RESPONSES: _responses}
