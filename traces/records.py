"""JSON records of unknown shape: whole files, lines, heads for sniffing, and typed looks at values.

Recordings hold any type in any place, so nothing here trusts a value's type: a look that does not fit gives
an empty container or None.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import isfinite
from typing import Annotated

import jiter
import msgspec
import orjson

from traces.errors import TraceError
from traces.jsontext import values_of
from traces.readlog import ReadLog
from traces.rows import Row, rows
from traces.source import SourceFile

Json = dict[str, object]
"""A JSON object."""

_MAX_COUNT = 1 << 53
Count = Annotated[int, msgspec.Meta(ge=0, le=_MAX_COUNT)]
"""A count, as as_count takes it."""
Positive = Annotated[int, msgspec.Meta(ge=1, le=_MAX_COUNT)]
"""A count of one or more."""
Name = Annotated[str, msgspec.Meta(min_length=1)]
"""A text, as first_text takes it."""
_HEAD_VALUES = 40
_MAX_DEPTH = 200
"""Nesting that jiter refuses to go beyond."""


def as_dict(value: object) -> Json:
    """*value* if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[object]:
    """*value* if it is an array, else an empty one."""
    return value if isinstance(value, list) else []


def dicts(value: object) -> list[Json]:
    """The objects among the members of an array."""
    return [item for item in as_list(value) if isinstance(item, dict)]


def as_text(value: object) -> str | None:
    """*value* if it is a string, else None."""
    return value if isinstance(value, str) else None


def first_text(*values: object) -> str | None:
    """The first non-empty string of *values*."""
    return next((value for value in values if isinstance(value, str) and value), None)


def joined(value: object, key: str = "text") -> str:
    """The text of *value*: a string as it stands, or the *key* texts of an array's members run together."""
    if isinstance(value, str):
        return value
    members = as_list(value) if not isinstance(value, dict) else [value]
    texts = (item if isinstance(item, str) else as_dict(item).get(key) for item in members)
    return "".join(text for text in texts if isinstance(text, str))


def as_count(value: object) -> int | None:
    """A count as an int; None for what is no whole number of zero or more."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if 0 <= value <= _MAX_COUNT and value == int(value) else None


def as_number(value: object) -> float | None:
    """A finite number; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if isfinite(value) else None


def document(file: SourceFile) -> object:
    """The one JSON value of *file*. Raises TraceError when it is not valid JSON."""
    try:
        return parsed(file.read())
    except orjson.JSONDecodeError as error:
        raise TraceError(file.name, error.lineno, f"not valid JSON: {error.msg}", "mend the file") from error


def parsed(data: bytes) -> object:
    """The JSON value of *data*. Raises orjson.JSONDecodeError, also for nesting too deep to work with."""
    value: object = orjson.loads(data)
    if data.count(b"[") + data.count(b"{") > _MAX_DEPTH:
        try:
            jiter.from_json(data, cache_mode="none")
        except ValueError as error:
            if "recursion" in str(error):
                raise orjson.JSONDecodeError("nested too deeply", "", 0) from error
    return value


def objects(file: SourceFile, log: ReadLog) -> Iterator[tuple[int, Json]]:
    """Yield (line number, object) of each line; other lines go to *log* as invalid."""
    for number, line in file.lines():
        value = _object(file, number, line, log)
        if value is not None:
            yield number, value


def _object(file: SourceFile, number: int, line: bytes, log: ReadLog) -> Json | None:
    """The object on a line; None for another line, which goes to *log* as invalid."""
    try:
        value = parsed(line)
    except orjson.JSONDecodeError as error:
        log.invalid(file.name, number, f"not valid JSON: {error.msg}", kind="line that is not valid JSON")
        return None
    if isinstance(value, dict):
        return value
    log.invalid(file.name, number, "the line is no JSON object", kind="line that is no JSON object")
    return None


def decoded(file: SourceFile, kind: type[Row], log: ReadLog) -> Iterator[tuple[int, Row | Json]]:
    """Yield (line number, row) of each line: as *kind* where it fits, else as in `objects`.

    *kind* should take the usual lines only, and what it takes must mean the same as the object: it saves time.
    """
    return rows(file, kind, lambda number, line: _object(file, number, line, log))


def documents(file: SourceFile, log: ReadLog, kind: type[Row] | None = None) -> Iterator[tuple[int | None, object]]:
    """Yield the values of *file*, whether it is one JSON document or JSON lines, whatever its name says.

    Lines that fit *kind* are given as such (see `decoded`).
    """
    lines = file.lines()
    first = next(lines, None)
    if first is None:
        return
    try:
        value = parsed(first[1])
    except orjson.JSONDecodeError:
        yield from _whole(file, log)
        return
    if next(lines, None) is None:
        yield None, value
    else:
        yield from objects(file, log) if kind is None else decoded(file, kind, log)


def _whole(file: SourceFile, log: ReadLog) -> Iterator[tuple[int | None, object]]:
    data = file.read()
    try:
        value = parsed(data)
    except orjson.JSONDecodeError as error:
        yield from _in_turn(file, data, error, log)
        return
    yield None, value


def _in_turn(
    file: SourceFile, data: bytes, fault: orjson.JSONDecodeError, log: ReadLog
) -> Iterator[tuple[int | None, object]]:
    """The values of *data*, which are objects one after another, or else no JSON because of *fault*."""
    found, reason, line = 0, fault.msg, fault.lineno
    for text in values_of(data.decode("utf-8", "replace")) if data.lstrip().startswith(b"{") else ():
        try:
            value = parsed(text.encode("utf-8", "replace"))
        except orjson.JSONDecodeError as error:
            reason = error.msg if found else reason
            break
        found += 1
        yield found, value
    else:
        if found:
            return
    if found:
        log.invalid(file.name, None, f"value {found + 1} is not valid JSON: {reason}", kind="value that is no JSON")
    else:
        log.invalid(file.name, line, f"not valid JSON: {reason}", "mend the file", kind="file that is not valid JSON")


@lru_cache(maxsize=4)
def head_values(head: bytes) -> tuple[object, ...]:
    """The JSON values that a file's *head* shows: a document (cut short or not), or its first lines.

    Never raises; callers must not change the values.
    """
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if not is_lines(text):
        value = _partial(text)
        return () if value is None else (value,)
    values = (_partial(line) for line in text.splitlines()[:_HEAD_VALUES] if line.strip())
    return tuple(value for value in values if value is not None)


def head_objects(head: bytes) -> list[Json]:
    """The objects that a file's *head* shows."""
    return [value for value in head_values(head) if isinstance(value, dict)]


def is_lines(text: bytes) -> bool:
    """Whether the first line is a whole JSON value with more after it."""
    first, separator, rest = text.partition(b"\n")
    if not separator or not rest.strip():
        return False
    try:
        jiter.from_json(first)
    except ValueError:
        return False
    return True


def _partial(text: bytes) -> object:
    try:
        value: object = jiter.from_json(text, partial_mode="trailing-strings")
    except ValueError:
        return None
    return value
