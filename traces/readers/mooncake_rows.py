"""Lines of the Mooncake formats as requests."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from traces.lengths import usable_lengths
from traces.model import Times
from traces.readlog import ReadLog
from traces.source import SourceFile

BLOCK_TOKENS = 512
"""Tokens of a block of the published traces."""
_MS = 1e3


class MooncakeRow(msgspec.Struct, frozen=True, gc=False):
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


class Request(msgspec.Struct, gc=False):
    """One usable line. *delay_s*: seconds after the end of the session's turn before it."""

    line: int
    session_id: str | None
    input_tokens: int
    output_tokens: int
    ids: tuple[int | str, ...]
    sent_s: float | None
    delay_s: float | None
    model: str | None


def requests(file: SourceFile, log: ReadLog) -> Iterator[Request]:
    """Yield the request of each usable line of *file*."""
    decode = msgspec.json.Decoder(MooncakeRow).decode
    for number, line in file.lines():
        try:
            row = decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            log.invalid(file.name, number, str(error), kind="line that is no Mooncake request")
            continue
        tokens = row.input_length if row.input_length is not None else row.input_tokens
        output = row.output_length if row.output_length is not None else row.output_tokens
        if tokens is None or output is None or tokens < 0 or output < 0:
            log.invalid(file.name, number, "input_length and output_length must be whole numbers of zero or more")
            continue
        if not (tokens and output) and not usable_lengths(tokens, output, log):
            continue
        at_ms = row.timestamp if row.timestamp is not None else row.created_time
        wait_ms = row.delay if row.delay is not None else row.delay_ms
        session = row.session_id
        yield Request(
            number,
            session if session is None else str(session),
            tokens,
            output,
            row.hash_ids or (),
            None if at_ms is None else at_ms / _MS,
            None if wait_ms is None else max(0.0, wait_ms / _MS),
            row.model,
        )


def sent_at(request: Request) -> Times | None:
    """What is known of the times of *request*."""
    return None if request.sent_s is None else Times(sent_s=request.sent_s)
