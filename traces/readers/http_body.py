"""Bodies of recorded HTTP messages: text, JSON, compressed or binary, as values to look into."""

from __future__ import annotations

import base64
import binascii
import zlib

import orjson
import zstandard

from traces.readers.event_stream import is_event_stream, payloads
from traces.records import Json, as_dict, as_text, first_text, parsed

_MAX_BYTES = 256 << 20
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_GZIP_OR_ZLIB = 47
"""Window bits that make zlib recognise both headers."""


class BodyError(ValueError):
    """A body that cannot be read; the text says why."""


def body_value(message: Json) -> object:
    """The body of a recorded request or response: a JSON value, text, or the events of a binary stream.

    Raises BodyError for a body that cannot be decoded.
    """
    if "parsed_body" in message:
        return message["parsed_body"]
    body = message.get("body")
    if isinstance(body, dict) and ("string" in body or "base64_string" in body):
        body = body.get("string") if "string" in body else _from_base64(body["base64_string"])
    if isinstance(body, bytes):
        return _decoded(body, header(message, "content-encoding"))
    return body


def json_body(message: Json) -> Json:
    """The body as a JSON object; empty if it is none."""
    try:
        value = body_value(message)
        if isinstance(value, str):
            value = parsed(value.encode(errors="replace"))
    except (BodyError, orjson.JSONDecodeError):
        return {}
    return as_dict(value)


def header(message: Json, name: str) -> str | None:
    """The first value of a header, whatever the case of its name."""
    for key, value in as_dict(message.get("headers")).items():
        if key.lower() == name:
            return first_text(value, *(value if isinstance(value, list) else ()))
    return None


def _decoded(data: bytes, encoding: str | None) -> object:
    data = _expanded(data, encoding)
    if is_event_stream(data):
        return payloads(data)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise BodyError("body that is no text") from error


def _expanded(data: bytes, encoding: str | None) -> bytes:
    try:
        if data.startswith(_GZIP) or encoding == "deflate":
            inflater = zlib.decompressobj(_GZIP_OR_ZLIB)
            text = inflater.decompress(data, _MAX_BYTES)
            if inflater.unconsumed_tail:
                raise BodyError(f"body of more than {_MAX_BYTES} bytes after decompression")
            return text
        if data.startswith(_ZSTD):
            return zstandard.ZstdDecompressor().decompress(data, max_output_size=_MAX_BYTES)
    except (zlib.error, zstandard.ZstdError) as error:
        raise BodyError("body that cannot be decompressed") from error
    return data


def _from_base64(value: object) -> bytes:
    try:
        return base64.b64decode(as_text(value) or "", validate=False)
    except (binascii.Error, ValueError) as error:
        raise BodyError("body that is not valid base64") from error
