"""Mooncake traces: requests by time and length with the ids of their prompt blocks, bare or in sessions."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from traces.lengths import blocks_prompt, length_turn, usable_lengths
from traces.model import LengthPrompt, Session, Times
from traces.readers.base import JsonReader, stem
from traces.readlog import ReadLog
from traces.records import Json
from traces.source import SourceFile

BLOCK_TOKENS = 512
"""Tokens of a block of the published traces."""

_MS = 1e3
_INPUT = ("input_length", "input_tokens")
_OUTPUT = ("output_length", "output_tokens")
_AGENTIC = ("request_id", "wait_for", "branches")


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


class Request(msgspec.Struct, frozen=True, gc=False):
    """One usable line. *delay_s*: seconds after the end of the session's turn before it."""

    line: int
    input_tokens: int
    output_tokens: int
    ids: tuple[int | str, ...]
    sent_s: float | None
    delay_s: float | None
    model: str | None


class MooncakeReader(JsonReader):
    """Reads a session of one turn a row, or one of several turns for rows that share a session_id."""

    name = "mooncake"
    title = "Mooncake JSONL (lengths and 512-token block ids, bare or in sessions)"

    def score(self, rows: list[Json]) -> float:
        """Lengths with block ids or a time, without the fields of the agentic formats."""
        row = rows[0]
        lengths = any(key in row for key in _INPUT) and any(key in row for key in _OUTPUT)
        if not lengths or any(key in row for key in _AGENTIC):
            return 0.0
        if "hash_ids" in row:
            return 0.9
        timed = any(key in row for key in ("timestamp", "created_time", "delay", "delay_ms"))
        return 0.8 if timed and "input_length" in row else 0.5 if timed else 0.0

    def read_file(self, file: SourceFile, log: ReadLog) -> Iterator[Session]:
        """Yield bare requests as they come, then the sessions in the order of their first rows."""
        groups: dict[str, list[tuple[Request, LengthPrompt]]] = {}
        prefix = stem(file)
        for session_id, request in requests(file, log):
            try:
                prompt = blocks_prompt(request.input_tokens, request.ids, BLOCK_TOKENS)
            except ValueError as error:
                log.invalid(file.name, request.line, str(error), kind="block ids that do not fit the length")
                continue
            if session_id is None:
                turn = length_turn("t1", prompt, request.output_tokens, times=sent_at(request), model=request.model)
                yield Session(id=f"{prefix}:{request.line}", turns=(turn,), start_s=request.sent_s)
            else:
                groups.setdefault(session_id, []).append((request, prompt))
        for name in list(groups):
            yield _session(name, groups.pop(name))


READER = MooncakeReader()


def requests(file: SourceFile, log: ReadLog) -> Iterator[tuple[str | None, Request]]:
    """Yield (session id, request) of each usable line of *file*."""
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
        request = Request(
            number,
            tokens,
            output,
            row.hash_ids or (),
            None if at_ms is None else at_ms / _MS,
            None if wait_ms is None else max(0.0, wait_ms / _MS),
            row.model,
        )
        yield None if row.session_id is None else str(row.session_id), request


def sent_at(request: Request) -> Times | None:
    """What is known of the times of *request*."""
    return None if request.sent_s is None else Times(sent_s=request.sent_s)


def _session(name: str, rows: list[tuple[Request, LengthPrompt]]) -> Session:
    turns = []
    parent = None
    waits = [request.delay_s for request, _ in rows[1:]]
    for number, ((request, prompt), wait_s) in enumerate(zip(rows, [*waits, None], strict=True), start=1):
        turn = length_turn(
            f"t{number}",
            prompt,
            request.output_tokens,
            times=sent_at(request),
            parent=parent,
            user_wait_s=wait_s,
            model=request.model,
        )
        turns.append(turn)
        parent = turn.id
    return Session(id=name, turns=tuple(turns), start_s=rows[0][0].sent_s)
