"""Lines of the Mooncake formats as requests."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from traces.lengths import usable_lengths
from traces.model import Times
from traces.readlog import ReadLog
from traces.records import Positive
from traces.rows import rows
from traces.source import SourceFile

BLOCK_TOKENS = 512
"""Tokens of a block of the published traces."""
_MS = 1e3


class Request(
    msgspec.Struct,
    gc=False,
    rename={
        "input_tokens": "input_length",
        "output_tokens": "output_length",
        "ids": "hash_ids",
        "sent_ms": "timestamp",
        "wait_ms": "delay",
        "other_input": "input_tokens",
        "other_output": "output_tokens",
    },
):
    """One usable line; lines in their usual form are decoded as such."""

    input_tokens: Positive
    output_tokens: Positive
    ids: tuple[int | str, ...] = ()
    session_id: str | None = None
    sent_ms: float | None = None
    wait_ms: float | None = None
    model: str | None = None
    line: int = 0
    """Where it stands, if its reader needs to know later."""
    other_input: None = None
    other_output: None = None
    created_time: None = None
    delay_ms: None = None


class _Row(msgspec.Struct, frozen=True, gc=False):
    """One line as it is recorded: milliseconds and tokens."""

    timestamp: float | None = None
    created_time: float | None = None
    input_length: int | None = None
    input_tokens: int | None = None
    output_length: int | None = None
    output_tokens: int | None = None
    hash_ids: tuple[int | str, ...] | None = None
    session_id: str | int | None = None
    delay: float | None = None
    delay_ms: float | None = None
    model: str | None = None


def requests(file: SourceFile, log: ReadLog) -> Iterator[tuple[int, Request]]:
    """Yield (line number, request) of each usable line of *file*."""
    return rows(file, Request, lambda number, line: _request(file, number, line, log))


def _request(file: SourceFile, number: int, line: bytes, log: ReadLog) -> Request | None:
    """The request of a line of whatever form; None for one that is none, which goes to *log*."""
    try:
        row = msgspec.json.decode(line, type=_Row)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        log.invalid(file.name, number, str(error), kind="line that is no Mooncake request")
        return None
    tokens = row.input_length if row.input_length is not None else row.input_tokens
    output = row.output_length if row.output_length is not None else row.output_tokens
    if tokens is None or output is None or tokens < 0 or output < 0:
        log.invalid(file.name, number, "input_length and output_length must be whole numbers of zero or more")
        return None
    if not usable_lengths(tokens, output, log):
        return None
    return Request(
        tokens,
        output,
        row.hash_ids or (),
        str(row.session_id) if row.session_id is not None else None,
        row.timestamp if row.timestamp is not None else row.created_time,
        row.delay if row.delay is not None else row.delay_ms,
        row.model,
    )


def sent_s(request: Request) -> float | None:
    """When *request* was sent."""
    return None if request.sent_ms is None else request.sent_ms / _MS


def sent_at(request: Request) -> Times | None:
    """What is known of the times of *request*."""
    return None if request.sent_ms is None else Times(request.sent_ms / _MS)


def delay_s(request: Request) -> float | None:
    """Seconds that *request* was sent after the end of its session's turn before it."""
    wait_ms = request.wait_ms
    if wait_ms is None:
        return None
    return wait_ms / _MS if wait_ms > 0 else 0.0
