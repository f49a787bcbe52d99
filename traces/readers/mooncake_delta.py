"""Mooncake rows in sessions whose input_length is what the turn adds to the session's prompt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from msgspec.structs import replace

from traces.model import Attempt, Message, MessagePrompt, OpaqueBlock, Session, Turn, Usage
from traces.readers.base import JsonReader, stem
from traces.readers.mooncake import BLOCK_TOKENS, Request, requests, sent_at
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
            session = growing.get(name)
            if session is None:
                session = growing[name] = _Growing(name)
            session.add(request, added)
        for name in list(growing):
            yield growing.pop(name).session()


READER = MooncakeDeltaReader()


@dataclass(slots=True)
class _Growing:
    """A session so far. What was said is held once (*messages*, found by *places*), each prompt as ranges of it."""

    name: str
    messages: list[Message] = field(default_factory=list)
    places: dict[tuple[OpaqueBlock, ...], int] = field(default_factory=dict)
    ranges: list[tuple[int, int]] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    total: int = 0

    def add(self, request: Request, added: tuple[OpaqueBlock, ...]) -> None:
        turn_id = f"t{len(self.turns) + 1}"
        self._say(added)
        self.total += request.input_tokens
        output = OpaqueBlock(tokens=request.output_tokens, key=f"{self.name}/{turn_id}/out")
        usage = Usage(input_tokens=self.total, output_tokens=request.output_tokens)
        parent = None
        if self.turns:
            parent = self.turns[-1].id
            if request.delay_s is not None:
                self.turns[-1] = replace(self.turns[-1], user_wait_s=request.delay_s)
        self.turns.append(
            Turn(
                id=turn_id,
                prompt=MessagePrompt(ranges=tuple(self.ranges)),
                attempts=(Attempt(output=(output,), usage=usage, times=sent_at(request)),),
                parent=parent,
                model=request.model,
            )
        )
        self._append(Message(role="assistant", blocks=(output,)))
        self.total += request.output_tokens

    def _say(self, blocks: tuple[OpaqueBlock, ...]) -> None:
        """Add a message of the user, which may have been said before."""
        place = self.places.setdefault(blocks, len(self.messages))
        if place == len(self.messages):
            self._append(Message(role="user", blocks=blocks))
        else:
            self._extend(place)

    def _append(self, message: Message) -> None:
        self.messages.append(message)
        self._extend(len(self.messages) - 1)

    def _extend(self, place: int) -> None:
        if self.ranges and self.ranges[-1][1] == place:
            self.ranges[-1] = (self.ranges[-1][0], place + 1)
        else:
            self.ranges.append((place, place + 1))

    def session(self) -> Session:
        times = self.turns[0].final.times
        start_s = times.sent_s if times is not None else None
        return Session(id=self.name, turns=tuple(self.turns), messages=tuple(self.messages), start_s=start_s)


def _added(name: str, request: Request) -> tuple[OpaqueBlock, ...]:
    """What a row adds: one block of tokens, or one an id. Raises ValueError when the ids do not fit."""
    if not request.ids:
        return (OpaqueBlock(tokens=request.input_tokens, key=f"{name}/{request.line}/in"),)
    full, rest = divmod(request.input_tokens, BLOCK_TOKENS)
    count = len(request.ids)
    if count != full + bool(rest):
        raise ValueError(f"{count} block ids of {BLOCK_TOKENS} tokens do not fit {request.input_tokens} input tokens")
    whole = [OpaqueBlock(tokens=BLOCK_TOKENS, key=f"{value}:{BLOCK_TOKENS}") for value in request.ids[:full]]
    if rest:
        whole.append(OpaqueBlock(tokens=rest, key=f"{request.ids[full]}:{rest}"))
    return tuple(whole)
