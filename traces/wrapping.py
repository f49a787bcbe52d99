"""Recordings in another wrapping than their format's own, brought into that one.

Any format of JSON lines may come as one JSON array, as values written over several lines, or as the server-sent
events of a stream; one that is an array may come as lines. The same readers read what is unwrapped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from enum import StrEnum
from itertools import islice

import orjson

from traces.errors import TraceError
from traces.jsontext import values_of
from traces.records import dicts, head_values, is_lines, parsed
from traces.source import SourceFile

MAX_WRAPPED_BYTES = 1 << 30
"""Bytes of a file that is unwrapped: it is held in memory."""

_BOM = b"\xef\xbb\xbf"
_FIELD = re.compile(rb"(HTTP/|:|[A-Za-z][\w-]*:)")
"""A line before the first event: a field of an event, a comment, or the header of an HTTP response."""


class Wrapping(StrEnum):
    """How records are wrapped."""

    ARRAY = "one JSON array"
    VALUES = "JSON values over several lines"
    EVENTS = "server-sent events"
    MEMBERS = "lines of one array"


def wrapping(head: bytes) -> Wrapping | None:
    """The wrapping that a file's *head* shows; None for none. Never raises."""
    text = head.lstrip(_BOM + b" \t\r\n")
    if text.startswith(b"["):
        values = head_values(head)
        return Wrapping.ARRAY if len(values) == 1 and dicts(values[0]) else None
    if text.startswith(b"{"):
        if is_lines(text):
            return Wrapping.MEMBERS
        return Wrapping.VALUES if _followed(text) else None
    return Wrapping.EVENTS if _starts_stream(text) else None


def unwrapped_head(file: SourceFile, head: bytes, kind: Wrapping) -> SourceFile:
    """*file* unwrapped as far as its *head* shows it."""
    if kind in (Wrapping.ARRAY, Wrapping.MEMBERS):
        values = head_values(head)
        rows = dicts(values[0] if kind is Wrapping.ARRAY else list(values))
        texts = [json.dumps(row) for row in rows]
        text = "\n".join(texts) if kind is Wrapping.ARRAY else f"[{','.join(texts)}]"
        return replace(file, data=text.encode("utf-8", "surrogatepass"))
    return replace(file, data=b"\n".join(_lines(head, kind)))


def unwrapped(file: SourceFile, kind: Wrapping) -> SourceFile:
    """*file* with a record a line, or as the one array that its lines are. Raises TraceError if too large to hold.

    Lines keep their numbers where the wrapping has lines; records of the other wrappings are numbered from 1.
    """
    with file.open() as stream:
        data = stream.read(MAX_WRAPPED_BYTES + 1)
    if len(data) > MAX_WRAPPED_BYTES:
        reason = f"more than {MAX_WRAPPED_BYTES} bytes as {kind}"
        raise TraceError(file.name, None, reason, "write it as JSON lines, one record a line (jq -c does)")
    return replace(file, data=b"\n".join(_lines(data.removeprefix(_BOM), kind)), meter=None)


def _lines(data: bytes, kind: Wrapping) -> Iterable[bytes]:
    if kind is Wrapping.EVENTS:
        return _event_lines(data)
    if kind is Wrapping.MEMBERS:
        return _array_lines(data)
    text = data.decode("utf-8", "surrogateescape")
    return (value.encode("utf-8", "surrogateescape") for value in values_of(text))


def _followed(text: bytes) -> bool:
    """Whether the first value of *text* ends in it and another object comes after."""
    return any(value.startswith("{") for value in islice(values_of(text.decode("utf-8", "replace")), 1, 2))


def _starts_stream(text: bytes) -> bool:
    for line in text.splitlines():
        if line.startswith(b"data:") and line[5:].lstrip().startswith(b"{"):
            return True
        if line.strip() and not _FIELD.match(line):
            return False
    return False


def _event_lines(data: bytes) -> list[bytes]:
    """A line for each of *data*: the JSON object of an event where it begins, JSON lines as they are, else nothing."""
    found: list[bytes] = []
    start: int | None = None
    for line in data.split(b"\n"):
        field = line.strip()
        if not field.startswith(b"data:"):
            start = None
            found.append(field if field.startswith(b"{") else b"")
            continue
        value = field[5:].strip()
        if start is not None and not _whole(value):
            found[start] += b" " + value
            found.append(b"")
            start = None if _whole(found[start]) else start
            continue
        found.append(value if value.startswith(b"{") else b"")
        start = len(found) - 1 if value.startswith(b"{") and not _whole(value) else None
    return found


def _array_lines(data: bytes) -> Iterator[bytes]:
    """The lines of *data* as the members of an array."""
    separator = b"["
    for line in data.split(b"\n"):
        yield separator + line if line.strip() else b""
        separator = b"," if line.strip() else separator
    yield b"]"


def _whole(text: bytes) -> bool:
    if not text.startswith(b"{"):
        return False
    try:
        parsed(text)
    except orjson.JSONDecodeError:
        return False
    return True
