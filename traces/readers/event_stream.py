"""The binary event stream of AWS: frames of headers and a JSON payload, as Bedrock sends them.

Frame: total length, header length and their CRC (4 bytes each, big endian), headers, payload, CRC of it all.
"""

from __future__ import annotations

import base64
import binascii
import struct
import zlib
from collections.abc import Iterable

import orjson

from traces.records import Json, as_dict, as_text, parsed

_PRELUDE = struct.Struct(">III")
_TAIL_BYTES = 4
_STRING_HEADER = 7


def is_event_stream(data: bytes) -> bool:
    """Whether *data* starts with a frame whose prelude checks out."""
    if len(data) < _PRELUDE.size:
        return False
    total, headers, crc = _PRELUDE.unpack_from(data)
    sizes = headers + _PRELUDE.size + _TAIL_BYTES <= total <= len(data)
    return bool(sizes and zlib.crc32(data[:8]) == crc)


def payloads(data: bytes) -> list[Json]:
    """The JSON payloads by frame; a cut-off end is left out.

    A Converse frame becomes an object under its event type; an InvokeModel chunk is the event inside it.
    """
    events: list[Json] = []
    while is_event_stream(data):
        total, header_bytes, _ = _PRELUDE.unpack_from(data)
        start = _PRELUDE.size + header_bytes
        kind = _event_type(data[_PRELUDE.size : start])
        body = _json(data[start : total - _TAIL_BYTES])
        inner = as_text(body.get("bytes"))
        events.append(_inner(inner) if inner is not None else {kind: body})
        data = data[total:]
    return events


def merged_converse(events: Iterable[Json]) -> Json:
    """The Converse reply that the frames of *events* stream."""
    parts: dict[object, Json] = {}
    reply: Json = {}
    for event in events:
        start, change = as_dict(event.get("contentBlockStart")), as_dict(event.get("contentBlockDelta"))
        if start:
            parts[start.get("contentBlockIndex")] = as_dict(start.get("start"))
        elif change:
            part = parts.setdefault(change.get("contentBlockIndex"), {})
            _add(part, as_dict(change.get("delta")))
        reply |= {"stopReason": as_dict(event["messageStop"]).get("stopReason")} if "messageStop" in event else {}
        reply |= as_dict(event.get("metadata"))
    return {**reply, "output": {"message": {"role": "assistant", "content": list(parts.values())}}}


def _add(part: Json, delta: Json) -> None:
    if isinstance(delta.get("text"), str):
        part["text"] = f"{part.get('text', '')}{delta['text']}"
    thought = as_dict(delta.get("reasoningContent"))
    if isinstance(thought.get("text"), str):
        known = as_dict(as_dict(part.get("reasoningContent")).get("reasoningText")).get("text") or ""
        part["reasoningContent"] = {"reasoningText": {"text": f"{known}{thought['text']}"}}
    piece = as_dict(delta.get("toolUse")).get("input")
    if isinstance(piece, str):
        call = as_dict(part.get("toolUse"))
        known = call.get("input")
        part["toolUse"] = {**call, "input": f"{known if isinstance(known, str) else ''}{piece}"}


def _event_type(headers: bytes) -> str:
    """The ``:event-type`` header; empty when it is missing."""
    position = 0
    while position < len(headers):
        name_end = position + 1 + headers[position]
        if name_end + 3 > len(headers) or headers[name_end] != _STRING_HEADER:
            break
        name = headers[position + 1 : name_end]
        size = int.from_bytes(headers[name_end + 1 : name_end + 3], "big")
        position = name_end + 3 + size
        if name == b":event-type":
            return headers[name_end + 3 : position].decode(errors="replace")
    return ""


def _json(data: bytes) -> Json:
    try:
        return as_dict(parsed(data))
    except orjson.JSONDecodeError:
        return {}


def _inner(text: str) -> Json:
    try:
        return _json(base64.b64decode(text))
    except (binascii.Error, ValueError):
        return {}
