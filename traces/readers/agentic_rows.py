"""Rows of the agentic Mooncake format, both versions, as one shape: a request and what it waits for."""

from __future__ import annotations

from dataclasses import dataclass

from traces.clock import scaled
from traces.lengths import block_ids
from traces.records import Json, as_count, as_list, dicts, first_text

_MS = 1e3
SCHEMA = "dynamo.agentic_mooncake"
"""Schema name in the header row of the newer version."""
DEFAULT_BLOCK_TOKENS = 512
"""Tokens of a block where no header says so and the rows fit it."""


@dataclass(frozen=True, slots=True)
class Wait:
    """A request that another one waits for, and the seconds from its end (or its start) on."""

    request_id: str
    delay_s: float
    at_start: bool = False
    spawned: bool = False


@dataclass(frozen=True, slots=True)
class AgenticRow:
    """One request. *waits* in the row's order; *tool_s* is the part of the wait that tools took."""

    line: int
    request_id: str
    session_id: str
    input_tokens: int
    output_tokens: int
    ids: tuple[int | str, ...]
    not_before_s: float | None
    duration_s: float | None
    waits: tuple[Wait, ...]
    tool_s: float
    tool_name: str
    model: str | None


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
        session_id=f"{play}/{session}" if play and play != session else session,
        input_tokens=tokens,
        output_tokens=output,
        ids=ids,
        not_before_s=scaled(_either(row, "not_before_ms", "timestamp", "created_time"), _MS),
        duration_s=scaled(row.get("recorded_api_time_ms"), _MS),
        waits=_waits(row, tool_s),
        tool_s=tool_s,
        tool_name=_tool_name(row),
        model=first_text(row.get("model")),
    )


def _waits(row: Json, tool_s: float) -> tuple[Wait, ...]:
    delay_s = _delay(_either(row, "delay", "delay_ms")) + tool_s
    found = [Wait(name, delay_s) for name in as_list(row.get("wait_for")) if isinstance(name, str)]
    for dependency in dicts(row.get("dependencies")):
        name = first_text(dependency.get("request_id"))
        if name is not None:
            relation = first_text(dependency.get("relation"))
            at_start = dependency.get("trigger") == "dispatch"
            found.append(Wait(name, _delay(dependency.get("delay_ms")), at_start, relation == "spawn"))
    return tuple(found)


def _tool_name(row: Json) -> str:
    names = [first_text(event.get("tool_class"), event.get("name")) for event in dicts(row.get("tool_events"))]
    known = [name for name in names if name]
    return known[0] if len(known) == 1 else "tool"


def _either(row: Json, *names: str) -> object:
    return next((row[name] for name in names if row.get(name) is not None), None)


def _delay(value: object) -> float:
    return max(0.0, scaled(value, _MS) or 0.0)
