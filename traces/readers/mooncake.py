"""Mooncake traces: requests by time and length with the ids of their prompt blocks, bare or in sessions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traces.grouping import Groups
from traces.lengths import block_turn, check_blocks, turn_names
from traces.model import Session, Turn
from traces.readers.base import JsonReader, stem
from traces.readers.mooncake_rows import BLOCK_TOKENS, Request, delay_s, requests, sent_at, sent_s
from traces.readlog import ReadLog
from traces.records import Json
from traces.source import SourceFile

_INPUT = ("input_length", "input_tokens")
_OUTPUT = ("output_length", "output_tokens")
_AGENTIC = ("request_id", "wait_for", "branches")


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
        sessions = Groups(Request)
        prefix = stem(file)
        for number, request in requests(file, log):
            try:
                check_blocks(request.input_tokens, len(request.ids), BLOCK_TOKENS)
            except ValueError as error:
                log.invalid(file.name, number, str(error), kind="block ids that do not fit the length")
                continue
            name = request.session_id
            if name is None:
                turn = _turn("t1", request)
                yield Session(f"{prefix}:{number}", (turn,), start_s=sent_s(request))
            else:
                sessions.add(name, request)
        for name, rows in sessions:
            yield _session(name, rows)


READER = MooncakeReader()


def _session(name: str, rows: Sequence[Request]) -> Session:
    """The requests of a session; between two of them a person waits."""
    names = turn_names(len(rows))
    waits = [delay_s(request) for request in rows[1:]]
    turns = [
        _turn(turn_id, request, parent, wait_s)
        for turn_id, request, parent, wait_s in zip(names, rows, (None, *names), (*waits, None), strict=False)
    ]
    return Session(name, tuple(turns), start_s=sent_s(rows[0]))


def _turn(turn_id: str, request: Request, parent: str | None = None, wait_s: float | None = None) -> Turn:
    tokens, output_tokens, times = request.input_tokens, request.output_tokens, sent_at(request)
    model = request.model
    return block_turn(turn_id, tokens, BLOCK_TOKENS, request.ids, output_tokens, times, parent, (), wait_s, model)
