"""Event streams of the Anthropic Messages API, put together to the message that the same call gives unstreamed."""

from __future__ import annotations

from collections.abc import Iterable

import orjson

from traces.records import Json, as_count, as_dict, parsed

_EVENTS = (
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
    "ping",
)
_PIECES = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}


def is_stream_event(event: Json) -> bool:
    """Whether *event* belongs to a Messages API stream."""
    return event.get("type") in _EVENTS


def merged_events(events: Iterable[Json]) -> Json:
    """The message that *events* stream: blocks by index, with the last usage, whose counts are cumulative.

    A call's input that was cut off before its end stays text.
    """
    message: Json = {}
    blocks: dict[int, _Block] = {}
    usage: Json = {}
    for event in events:
        kind = event.get("type")
        if kind == "message_start":
            message = {**message, **as_dict(event.get("message"))}
            usage |= as_dict(message.get("usage"))
        elif kind == "content_block_start":
            blocks[_index(event)] = _Block(as_dict(event.get("content_block")))
        elif kind == "content_block_delta":
            blocks.setdefault(_index(event), _Block({})).add(as_dict(event.get("delta")))
        elif kind == "message_delta":
            stop = as_dict(event.get("delta")).get("stop_reason")
            if stop is not None:
                message["stop_reason"] = stop
            counts = as_dict(event.get("usage"))
            usage |= {key: value for key, value in counts.items() if value is not None}
    if usage:
        message["usage"] = usage
    message["content"] = [blocks[index].block() for index in sorted(blocks)]
    return message


class _Block:
    def __init__(self, start: Json) -> None:
        self._start = start
        self._pieces: dict[str, list[str]] = {}

    def add(self, delta: Json) -> None:
        key = _PIECES.get(str(delta.get("type")))
        value = delta.get(key) if key else None
        if key and isinstance(value, str):
            self._pieces.setdefault(key, []).append(value)

    def block(self) -> Json:
        block = dict(self._start)
        for key, pieces in self._pieces.items():
            text = "".join(pieces)
            if key == "partial_json":
                block.setdefault("type", "tool_use")
                block["input"] = _input(text)
            else:
                started = block.get(key)
                block[key] = f"{started}{text}" if isinstance(started, str) else text
                block.setdefault("type", key)
        return block


def _input(text: str) -> object:
    """The streamed text as it was generated: kept where it is an object's JSON or was cut off."""
    try:
        value = parsed(text.encode())
    except orjson.JSONDecodeError:
        return text
    return text if isinstance(value, dict) else value


def _index(event: Json) -> int:
    return as_count(event.get("index")) or 0
