"""Mooncake traces: requests by time and length with the ids of their prompt blocks, bare or in sessions."""

from __future__ import annotations

from collections.abc import Iterator

from traces.lengths import blocks_prompt, length_turn, turn_name
from traces.model import LengthPrompt, Session, Turn
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
        groups: dict[str, list[tuple[Request, LengthPrompt]]] = {}
        prefix = stem(file)
        for number, request in requests(file, log):
            try:
                prompt = blocks_prompt(request.input_tokens, request.ids, BLOCK_TOKENS)
            except ValueError as error:
                log.invalid(file.name, number, str(error), kind="block ids that do not fit the length")
                continue
            name = request.session_id
            if name is None:
                turn = length_turn("t1", prompt, request.output_tokens, times=sent_at(request), model=request.model)
                yield Session(id=f"{prefix}:{number}", turns=(turn,), start_s=sent_s(request))
            else:
                groups.setdefault(name, []).append((request, prompt))
        for name in list(groups):
            yield _session(name, groups.pop(name))


READER = MooncakeReader()


def _session(name: str, rows: list[tuple[Request, LengthPrompt]]) -> Session:
    turns: list[Turn] = []
    parent = None
    for number, (request, prompt) in enumerate(rows, start=1):
        turn_id = turn_name(number)
        turns.append(
            length_turn(
                turn_id,
                prompt,
                request.output_tokens,
                times=sent_at(request),
                parent=parent,
                user_wait_s=delay_s(rows[number][0]) if number < len(rows) else None,
                model=request.model,
            )
        )
        parent = turn_id
    return Session(id=name, turns=tuple(turns), start_s=sent_s(rows[0][0]))
