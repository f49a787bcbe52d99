"""Content of a message in the shapes that agent logs give it, as text and media blocks."""

from __future__ import annotations

import orjson
import xxhash

from traces.model import Block, MediaBlock, TextBlock
from traces.pool import json_text
from traces.readlog import ReadLog
from traces.records import Json, as_dict, as_list, first_text

_MEDIA_KEYS = ("image_url", "source", "inlineData", "fileData", "input_audio", "data", "file", "image", "file_data")
_MEDIA_TYPES = ("mimeType", "mime_type", "media_type", "mediaType")


def content_blocks(value: object, log: ReadLog) -> tuple[Block, ...]:
    """Blocks of *value*: a string, a part, or an array of them; parts of other kinds are omitted."""
    if isinstance(value, str):
        return (TextBlock(text=value),) if value else ()
    members = as_list(value) if not isinstance(value, dict) else [value]
    blocks: list[Block] = []
    for member in members:
        block = _part(member)
        if block is not None:
            blocks.append(block)
        elif member not in ("", None) and as_dict(member).get("text") != "":
            log.omit("message part that is no text and no media")
    return tuple(blocks)


def content_text(value: object) -> str:
    """The text a tool returned: its text parts run together; anything else as JSON."""
    if isinstance(value, str) or value is None:
        return value or ""
    members = as_list(value) if not isinstance(value, dict) else [value]
    texts = [_text(member) for member in members]
    if members and all(text is not None for text in texts):
        return "".join(text for text in texts if text is not None)
    return json_text(value)


def _part(member: object) -> Block | None:
    text = _text(member)
    if text is not None:
        return TextBlock(text=text) if text else None
    return _media(as_dict(member))


def _text(member: object) -> str | None:
    if isinstance(member, str):
        return member
    part = as_dict(member)
    for key in ("text", "refusal"):
        value = part.get(key)
        if isinstance(value, str):
            return value
    return None


def _media(part: Json) -> MediaBlock | None:
    payload = next((part[key] for key in _MEDIA_KEYS if part.get(key)), None)
    if payload is None:
        return None
    inner = as_dict(payload)
    named = [source.get(key) for source in (part, inner) for key in _MEDIA_TYPES]
    kind = first_text(*named, part.get("type")) or "media"
    digest = xxhash.xxh3_64_hexdigest(orjson.dumps(payload, option=orjson.OPT_SORT_KEYS))
    return MediaBlock(media_type=kind, key=digest)
