"""Mooncake rows in sessions whose input_length is what the turn adds to the session's prompt."""

from __future__ import annotations

from collections.abc import Iterator

from traces.lengths import turn_name
from traces.model import Attempt, Message, MessagePrompt, OpaqueBlock, Session, Turn, Usage
from traces.readers.base import JsonReader, stem
from traces.readers.mooncake_rows import BLOCK_TOKENS, Request, requests, sent_at
from traces.readlog import ReadLog
from traces.records import Json
from traces.source import SourceFile

_WHOLE = f":{BLOCK_TOKENS}"


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
        groups: dict[str, list[Request]] = {}
        for request in requests(file, log):
            count, tokens = len(request.ids), request.input_tokens
            if count and count != -(-tokens // BLOCK_TOKENS):
                reason = f"{count} block ids of {BLOCK_TOKENS} tokens do not fit {tokens} input tokens"
                log.invalid(file.name, request.line, reason, kind="block ids that do not fit the length")
                continue
            name = request.session_id if request.session_id is not None else f"{stem(file)}:{request.line}"
            groups.setdefault(name, []).append(request)
        for name in list(groups):
            yield _session(name, groups.pop(name))


READER = MooncakeDeltaReader()


def _session(name: str, rows: list[Request]) -> Session:
    messages: list[Message] = []
    places: dict[tuple[object, ...], int] = {}
    before: tuple[tuple[int, int], ...] = ()
    begun = ended = total = 0
    turns: list[Turn] = []
    parent = None
    for number, request in enumerate(rows, start=1):
        turn_id = turn_name(number)
        tokens = request.input_tokens
        place = places.setdefault((request.ids, tokens) if request.ids else (number,), len(messages))
        if place == len(messages):
            messages.append(Message(role="user", blocks=_blocks(name, request)))
        if place != ended:
            before, begun = (*before, (begun, ended)), place
        ended = place + 1
        total += tokens
        output = request.output_tokens
        reply = (OpaqueBlock(tokens=output, key=f"{name}/{turn_id}/out"),)
        usage = Usage(input_tokens=total, output_tokens=output)
        turns.append(
            Turn(
                id=turn_id,
                prompt=MessagePrompt(ranges=(*before, (begun, ended))),
                attempts=(Attempt(output=reply, usage=usage, times=sent_at(request)),),
                parent=parent,
                user_wait_s=rows[number].delay_s if number < len(rows) else None,
                model=request.model,
            )
        )
        if ended != len(messages):
            before, begun = (*before, (begun, ended)), len(messages)
        messages.append(Message(role="assistant", blocks=reply))
        ended = len(messages)
        total += output
        parent = turn_id
    return Session(id=name, turns=tuple(turns), messages=tuple(messages), start_s=rows[0].sent_s)


def _blocks(name: str, request: Request) -> tuple[OpaqueBlock, ...]:
    """What a row adds: one block of tokens, or one an id, which means the same in all sessions."""
    ids, tokens = request.ids, request.input_tokens
    if not ids:
        return (OpaqueBlock(tokens=tokens, key=f"{name}/{request.line}/in"),)
    blocks = [OpaqueBlock(tokens=BLOCK_TOKENS, key=f"{value}{_WHOLE}") for value in ids]
    rest = tokens % BLOCK_TOKENS
    if rest:
        blocks[-1] = OpaqueBlock(tokens=rest, key=f"{ids[-1]}:{rest}")
    return tuple(blocks)
