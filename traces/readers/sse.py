"""Streams of JSON events: server-sent event text, JSON lines, or arrays of events."""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from traces.records import Json, dicts, parsed


def stream_events(value: object) -> Iterator[Json]:
    """Yield the events of *value*: an array of objects, or text with a JSON object a line, ``data:`` before it or not.

    Lines that hold no JSON object (comments, event names, the closing [DONE]) are passed over; a cut-off last
    line ends the stream.
    """
    if isinstance(value, list):
        yield from dicts(value)
    elif isinstance(value, str):
        for line in value.split("\n"):
            event = _event(line)
            if event is not None:
                yield event


def _event(line: str) -> Json | None:
    text = line.strip()
    if text.startswith("data:"):
        text = text[5:].lstrip()
    if not text.startswith("{"):
        return None
    try:
        event = parsed(text.encode())
    except orjson.JSONDecodeError:
        return None
    return event if isinstance(event, dict) else None
