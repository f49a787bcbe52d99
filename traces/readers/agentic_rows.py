"""Rows of the agentic Mooncake format, both versions, as one shape: a request and what it waits for."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from traces.clock import scaled
from traces.lengths import block_ids
from traces.readlog import ReadLog
from traces.records import Count, Json, Name, as_count, as_list, decoded, dicts, first_text
from traces.source import SourceFile

_MS = 1e3
_DISPATCH = "dispatch"
_SPAWN = "spawn"
SCHEMA = "dynamo.agentic_mooncake"
"""Schema name in the header row of the newer version."""
DEFAULT_BLOCK_TOKENS = 512
"""Tokens of a block where no header says so and the rows fit it."""


class Wait(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A request that another one waits for, and the seconds from its end (or its start) on."""

    request_id: str
    delay_s: float
    at_start: bool = False
    spawned: bool = False


class AgenticRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One request. *waits* in the row's order; *tool_s* is the part of the wait that tools took."""

    line: int
    request_id: str
    session_id: str
    input_tokens: int
    output_tokens: int
    ids: tuple[int | str, ...]
    not_before_s: float | None
    waits: tuple[Wait, ...]
    tool_s: float
    tool_name: str
    model: str | None


class _Dependency(msgspec.Struct, frozen=True, gc=False):
    request_id: Name
    delay_ms: float | None = None
    trigger: str | None = None
    relation: str | None = None


class _Plain(msgspec.Struct, frozen=True, gc=False):
    """A row of either version that has every field in its usual form."""

    request_id: Name
    session_id: Name
    input_length: Count
    output_length: Count
    hash_ids: tuple[int | str, ...] = ()
    timestamp: float | None = None
    not_before_ms: float | None = None
    wait_for: tuple[str, ...] = ()
    dependencies: tuple[_Dependency, ...] = ()
    delay: float | None = None
    tool_wait_ms: float | None = None
    tool_events: tuple[object, ...] = ()
    play_id: str | None = None
    model: str | None = None
    schema: None = None
    created_time: None = None
    delay_ms: None = None


def rows(file: SourceFile, log: ReadLog) -> Iterator[AgenticRow | Json]:
    """Yield the requests and headers of *file*; lines that are neither go to *log* as invalid."""
    for number, row in decoded(file, _Plain, log):
        if isinstance(row, _Plain):
            yield _plain_row(number, row)
            continue
        if is_header(row):
            yield row
            continue
        try:
            yield parse_row(number, row)
        except ValueError as error:
            log.invalid(file.name, number, str(error))


def _plain_row(line: int, row: _Plain) -> AgenticRow:
    tool_ms, wait_ms = row.tool_wait_ms, row.delay
    tool_s = tool_ms / _MS if tool_ms is not None and tool_ms > 0 else 0.0
    delay_s = wait_ms / _MS + tool_s if wait_ms is not None and wait_ms > 0 else tool_s
    waits: tuple[Wait, ...] = ()
    if row.wait_for:
        waits = (Wait(row.wait_for[0], delay_s),)
        if row.wait_for[1:]:
            waits += tuple([Wait(name, delay_s) for name in row.wait_for[1:]])
    if row.dependencies:
        waits += tuple(map(_dependency, row.dependencies))
    at_ms = row.not_before_ms if row.not_before_ms is not None else row.timestamp
    play = row.play_id
    return AgenticRow(
        line,
        row.request_id,
        _session_name(row.session_id, play) if play else row.session_id,
        row.input_length,
        row.output_length,
        row.hash_ids,
        None if at_ms is None else at_ms / _MS,
        waits,
        tool_s,
        _tool_name(row.tool_events) if row.tool_events else "tool",
        row.model or None,
    )


def _dependency(other: _Dependency) -> Wait:
    delay_s = max(0.0, (other.delay_ms or 0.0) / _MS)
    return Wait(other.request_id, delay_s, other.trigger == _DISPATCH, other.relation == _SPAWN)


def _session_name(session: str, play: str | None) -> str:
    return f"{play}/{session}" if play and play != session else session


def is_header(row: Json) -> bool:
    """Whether *row* is the header of the newer version."""
    return first_text(row.get("schema")) == SCHEMA


def parse_row(line: int, row: Json) -> AgenticRow:
    """The request of *row*. Raises ValueError saying what is wrong with it."""
    request_id = first_text(row.get("request_id"))
    if request_id is None:
        raise ValueError("a request needs a request_id")
    ids = block_ids(row.get("hash_ids"))
    if ids is None:
        raise ValueError("hash_ids must be a list of block ids")
    tokens = as_count(_either(row, "input_length", "input_tokens"))
    output = as_count(_either(row, "output_length", "output_tokens"))
    if tokens is None or output is None:
        raise ValueError("input_length and output_length must be whole numbers of zero or more")
    tool_s = _delay(row.get("tool_wait_ms"))
    session = first_text(row.get("session_id")) or request_id
    play = first_text(row.get("play_id"))
    return AgenticRow(
        line=line,
        request_id=request_id,
        session_id=_session_name(session, play),
        input_tokens=tokens,
        output_tokens=output,
        ids=ids,
        not_before_s=scaled(_either(row, "not_before_ms", "timestamp", "created_time"), _MS),
        waits=_waits(row, tool_s),
        tool_s=tool_s,
        tool_name=_tool_name(row.get("tool_events")),
        model=first_text(row.get("model")),
    )


def _waits(row: Json, tool_s: float) -> tuple[Wait, ...]:
    delay_s = _delay(_either(row, "delay", "delay_ms")) + tool_s
    found = [Wait(name, delay_s) for name in as_list(row.get("wait_for")) if isinstance(name, str)]
    for dependency in dicts(row.get("dependencies")):
        name = first_text(dependency.get("request_id"))
        if name is not None:
            relation = first_text(dependency.get("relation"))
            at_start = dependency.get("trigger") == _DISPATCH
            found.append(Wait(name, _delay(dependency.get("delay_ms")), at_start, relation == _SPAWN))
    return tuple(found)


def _tool_name(events: object) -> str:
    listed = list(events) if isinstance(events, tuple) else events
    names = [first_text(event.get("tool_class"), event.get("name")) for event in dicts(listed)]
    known = [name for name in names if name]
    return known[0] if len(known) == 1 else "tool"


def _either(row: Json, *names: str) -> object:
    return next((row[name] for name in names if row.get(name) is not None), None)


def _delay(value: object) -> float:
    return max(0.0, scaled(value, _MS) or 0.0)
