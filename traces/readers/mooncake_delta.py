"""Mooncake rows in sessions whose input_length is what the turn adds to the session's prompt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from msgspec.structs import replace

from traces.model import Attempt, Message, MessagePrompt, OpaqueBlock, Session, Times, Turn, Usage
from traces.pool import MessagePool
from traces.readers.base import JsonReader, stem
from traces.readers.mooncake import BLOCK_TOKENS, Request, requests
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
        growing: dict[str, _Growing] = {}
        for session_id, request in requests(file, log):
            name = session_id if session_id is not None else f"{stem(file)}:{request.line}"
            try:
                added = _added(name, request)
            except ValueError as error:
                log.invalid(file.name, request.line, str(error), kind="block ids that do not fit the length")
                continue
            growing.setdefault(name, _Growing(name)).add(request, added)
        for session in growing.values():
            yield session.session()


READER = MooncakeDeltaReader()


@dataclass(slots=True)
class _Growing:
    name: str
    pool: MessagePool = field(default_factory=MessagePool)
    ranges: list[tuple[int, int]] = field(default_factory=list)
    """What was said so far, as ranges of the pool."""
    turns: list[Turn] = field(default_factory=list)
    total: int = 0

    def add(self, request: Request, added: tuple[OpaqueBlock, ...]) -> None:
        turn_id = f"t{len(self.turns) + 1}"
        self._say(Message(role="user", blocks=added))
        self.total += request.input_tokens
        output = OpaqueBlock(tokens=request.output_tokens, key=f"{self.name}/{turn_id}/out")
        usage = Usage(input_tokens=self.total, output_tokens=request.output_tokens)
        times = None if request.sent_s is None else Times(sent_s=request.sent_s)
        parent = None
        if self.turns:
            parent = self.turns[-1].id
            self.turns[-1] = replace(self.turns[-1], user_wait_s=request.delay_s)
        self.turns.append(
            Turn(
                id=turn_id,
                prompt=MessagePrompt(ranges=tuple(self.ranges)),
                attempts=(Attempt(output=(output,), usage=usage, times=times),),
                parent=parent,
                model=request.model,
            )
        )
        self._say(Message(role="assistant", blocks=(output,)))
        self.total += request.output_tokens

    def _say(self, message: Message) -> None:
        """Add *message* to what was said, in a time that does not grow with it."""
        ((first, end),) = self.pool.prompt([message]).ranges
        if self.ranges and self.ranges[-1][1] == first:
            self.ranges[-1] = (self.ranges[-1][0], end)
        else:
            self.ranges.append((first, end))

    def session(self) -> Session:
        times = self.turns[0].final.times
        start_s = times.sent_s if times is not None else None
        return Session(id=self.name, turns=tuple(self.turns), messages=self.pool.messages, start_s=start_s)


def _added(name: str, request: Request) -> tuple[OpaqueBlock, ...]:
    """What a row adds: one block of tokens, or one an id. Raises ValueError when the ids do not fit."""
    if not request.ids:
        return (OpaqueBlock(tokens=request.input_tokens, key=f"{name}/{request.line}/in"),)
    full, rest = divmod(request.input_tokens, BLOCK_TOKENS)
    sizes = [BLOCK_TOKENS] * full + ([rest] if rest else [])
    if len(sizes) != len(request.ids):
        count = len(request.ids)
        raise ValueError(f"{count} block ids of {BLOCK_TOKENS} tokens do not fit {request.input_tokens} input tokens")
    return tuple(
        OpaqueBlock(tokens=size, key=f"{value}:{size}") for size, value in zip(sizes, request.ids, strict=True)
    )
