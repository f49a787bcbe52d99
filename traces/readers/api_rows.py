"""Rows of API logs: lines or members of an array, with the bare events of one stream run together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from traces.readers.base import stem
from traces.readers.message_list import is_messages
from traces.readlog import ReadLog
from traces.records import Json, documents
from traces.source import SourceFile


@dataclass(frozen=True, slots=True)
class ApiRow:
    """A value of a log, or the events of one stream. *name*: file and position, for ids and messages."""

    file: SourceFile
    line: int | None
    name: str
    value: object = None
    events: tuple[Json, ...] = ()

    def refuse(self, log: ReadLog, reason: str) -> None:
        """Count the row as invalid, or raise TraceError."""
        log.invalid(self.file.name, self.line, f"{self.name}: {reason}" if self.line is None else reason, kind=reason)


def api_rows(
    file: SourceFile, log: ReadLog, is_event: Callable[[Json], bool], starts_call: Callable[[Json, Json], bool]
) -> Iterator[ApiRow]:
    """Yield the rows of *file*; *starts_call* tells whether an event begins a new stream after another one."""
    events: list[Json] = []
    first: int | None = None
    for line, position, value in _members(file, log):
        event = value if isinstance(value, dict) and is_event(value) else None
        if events and (event is None or starts_call(event, events[-1])):
            yield ApiRow(file, first, f"{stem(file)}:{first or position}", events=tuple(events))
            events = []
        if event is None:
            yield ApiRow(file, line, f"{stem(file)}:{position}", value)
            continue
        if not events:
            first = line if line is not None else position
        events.append(event)
    if events:
        yield ApiRow(file, first, f"{stem(file)}:{first}", events=tuple(events))


def _members(file: SourceFile, log: ReadLog) -> Iterator[tuple[int | None, int, object]]:
    """Yield (line, position from 1, value) of each line, or of each member of the array that *file* is."""
    for number, (line, value) in enumerate(documents(file, log), start=1):
        if not isinstance(value, list) or is_messages(value):
            yield line, line or number, value
            continue
        for position, member in enumerate(value, start=1):
            yield line, position, member
