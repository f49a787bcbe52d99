"""Mooncake rows in sessions whose input_length is what the turn adds to the session's prompt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from traces.grouping import Groups
from traces.lengths import turn_names
from traces.model import Attempt, Message, MessagePrompt, OpaqueBlock, Session, Turn, Usage
from traces.readers.base import JsonReader, stem
from traces.readers.mooncake_rows import BLOCK_TOKENS, Request, delay_s, requests, sent_at, sent_s
from traces.readlog import ReadLog
from traces.records import Json
from traces.source import SourceFile


class MooncakeDeltaReader(JsonReader):
    """Reads the rows of a session as turns whose prompt is all that was said before, and what the row adds.

    Nothing in a row tells these from rows with whole prompts, so the format must be named.
    """

    name = "mooncake-delta"
    title = "Mooncake JSONL in sessions, input_length being what a turn adds (never detected: name it)"

    def score(self, rows: list[Json]) -> float:  # noqa: ARG002
        """Zero: see the class."""
        return 0.0

    def read_file(self, file: SourceFile, log: ReadLog) -> Iterator[Session]:
        """Yield the sessions in the order of their first rows; a row without session_id is one of its own."""
        sessions = Groups(Request)
        prefix = stem(file)
        for number, request in requests(file, log):
            ids = request.ids
            if not ids:
                request.line = number
            if ids and len(ids) != -(-request.input_tokens // BLOCK_TOKENS):
                reason = f"{len(ids)} block ids of {BLOCK_TOKENS} tokens do not fit {request.input_tokens} input tokens"
                log.invalid(file.name, number, reason, kind="block ids that do not fit the length")
                continue
            name = request.session_id
            sessions.add(f"{prefix}:{number}" if name is None else name, request)
        for name, rows in sessions:
            yield _session(name, rows)


READER = MooncakeDeltaReader()


def _session(name: str, rows: Sequence[Request]) -> Session:
    messages: list[Message] = []
    places: dict[tuple[object, ...], int] = {}
    before: tuple[tuple[int, int], ...] = ()
    begun = ended = total = size = 0
    turns: list[Turn] = []
    parent = None
    waits = [delay_s(request) for request in rows[1:]]
    repeats = bool(waits) and len({request.input_tokens for request in rows}) < len(rows)
    for turn_id, request, wait_s in zip(turn_names(len(rows)), rows, (*waits, None), strict=True):
        ids, tokens, output_tokens = request.ids, request.input_tokens, request.output_tokens
        place = places.setdefault((tokens, ids), size) if repeats and ids else size
        if place == size:
            key = None if ids else f"{name}/{request.line}/in"
            added = OpaqueBlock(tokens, None, key, BLOCK_TOKENS if ids else None, ids)
            messages.append(Message("user", (added,)))
            size += 1
        if place != ended:
            before, begun = (*before, (begun, ended)), place
        ended = place + 1
        total += tokens
        reply = (OpaqueBlock(output_tokens, None, f"{name}/{turn_id}/out"),)
        times = None if request.sent_ms is None else sent_at(request)
        attempt = Attempt(reply, Usage(total, None, None, output_tokens), times)
        prompt = MessagePrompt((*before, (begun, ended))) if before else _leading(ended)
        turns.append(Turn(turn_id, prompt, (attempt,), parent, (), wait_s, request.model))
        if ended != size:
            before, begun = (*before, (begun, ended)), size
        messages.append(Message("assistant", reply))
        ended = size = size + 1
        total += output_tokens
        parent = turn_id
    return Session(name, tuple(turns), tuple(messages), start_s=sent_s(rows[0]))


@lru_cache(maxsize=256)
def _leading(count: int) -> MessagePrompt:
    """The first *count* messages."""
    return MessagePrompt(((0, count),))
