"""Bodies of recorded HTTP messages: text, JSON, compressed or binary, as values to look into."""

from __future__ import annotations

import base64
import binascii
import importlib
import zlib
from typing import Any, Final

import orjson
import zstandard

from traces.readers.event_stream import is_event_stream, payloads
from traces.records import Json, as_dict, as_text, first_text, parsed

_MAX_BYTES = 256 << 20
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_GZIP_OR_ZLIB = 47
"""Window bits that make zlib recognise both headers."""


_PIECE_BYTES: Final = 1 << 16


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
    return _from_brotli(data) if encoding == "br" and not _is_text(data) else data


def _from_brotli(data: bytes) -> bytes:
    """Inflate *data* piece by piece, so that a small body cannot fill the memory before it is refused."""
    module = _brotli()
    inflater = module.Decompressor()
    found = bytearray()
    try:
        while not inflater.is_finished():
            piece = inflater.process(data, output_buffer_limit=_PIECE_BYTES)
            data = b""
            found += piece
            if len(found) > _MAX_BYTES:
                raise BodyError(f"body of more than {_MAX_BYTES} bytes after decompression")
            if not piece and inflater.can_accept_more_data():
                break
    except module.error as error:
        raise BodyError("body that cannot be decompressed") from error
    if not inflater.is_finished():
        raise BodyError("body that cannot be decompressed")
    return bytes(found)


def _brotli() -> Any:
    """The brotli module, where it is installed in a version that inflates piece by piece."""
    try:
        module = importlib.import_module("brotli")
    except ImportError:
        module = None
    if not hasattr(getattr(module, "Decompressor", None), "can_accept_more_data"):
        raise BodyError("body compressed with brotli (to read it: pip install 'simtool[brotli]')")
    return module


def _is_text(data: bytes) -> bool:
    """Whether *data* is JSON or a stream of events already: recorders may decompress a body and keep its header."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return False
    return text.lstrip().startswith(("{", "[", "data:", "event:", "id:", ":"))


def _from_base64(value: object) -> bytes:
    try:
        return base64.b64decode(as_text(value) or "", validate=False)
    except (binascii.Error, ValueError) as error:
        raise BodyError("body that is not valid base64") from error
