"""Tables of requests by arrival and lengths: which column means what, and their sessions."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from traces.lengths import length_turn, single, usable_lengths
from traces.model import LengthPrompt, Session, Times, Turn
from traces.readers.base import stem
from traces.readlog import ReadLog
from traces.source import SourceFile
from traces.tables import count, header_of, no_column, rows, seconds


@dataclass(frozen=True, slots=True)
class Columns:
    """Column of each role, by normalised name; None: the table has none."""

    input: str | None = None
    output: str | None = None
    arrival: str | None = None
    model: str | None = None
    session: str | None = None
    elapsed: str | None = None
    """Seconds the request took."""


ROLES = ("arrival", "input", "output", "model", "session", "elapsed")
"""Roles that a column can have."""


def with_present(columns: Columns, names: tuple[str, ...]) -> Columns:
    """*columns* without those that a table with *names* lacks."""
    absent: dict[str, None] = {role: None for role in ROLES if getattr(columns, role) not in names}
    return dataclasses.replace(columns, **absent)


class _Request(msgspec.Struct, frozen=True, gc=False):
    line: int
    sent_s: float | None
    input_tokens: int
    output_tokens: int
    model: str | None
    elapsed_s: float | None


def read_table(file: SourceFile, columns: Columns, log: ReadLog) -> Iterator[Session]:
    """Yield a session a row, or one a value of the session column. Raises TraceError for a missing column."""
    names = header_of(file.head())
    for what, name in (("input tokens", columns.input), ("output tokens", columns.output)):
        if name is None or name not in names:
            raise no_column(file, what, names)
    if columns.arrival is None:
        log.assume("table without arrival times: sessions have no recorded start")
    groups: dict[str, list[_Request]] = {}
    prefix = stem(file)
    wanted = (columns.input, columns.output, columns.arrival, columns.elapsed, columns.model, columns.session)
    for line, cells in rows(file, log, wanted):
        request = _request(file, line, cells, columns, log)
        if request is None:
            continue
        key = cells[-1]
        if key:
            groups.setdefault(key, []).append(request)
        else:
            yield single(f"{prefix}:{line}", _turn("t1", request), request.sent_s)
    for key in list(groups):
        yield _session(key, groups.pop(key), log)


def _request(file: SourceFile, line: int, cells: tuple[str, ...], columns: Columns, log: ReadLog) -> _Request | None:
    input_tokens, output_tokens = count(cells[0]), count(cells[1])
    arrival = columns.arrival
    sent_s = seconds(cells[2], arrival) if arrival is not None else None
    if input_tokens is None or output_tokens is None:
        reason = "a token count is no whole number of zero or more"
    elif arrival and sent_s is None:
        reason = f"no readable time in column {arrival!r}"
    else:
        if not usable_lengths(input_tokens, output_tokens, log):
            return None
        elapsed_s = seconds(cells[3], columns.elapsed) if columns.elapsed else None
        return _Request(line, sent_s, input_tokens, output_tokens, cells[4] or None, elapsed_s)
    log.invalid(file.name, line, reason, kind=reason)
    return None


def _turn(turn_id: str, request: _Request, parent: Turn | None = None) -> Turn:
    end_s = None
    if request.sent_s is not None and request.elapsed_s is not None and request.elapsed_s >= 0:
        end_s = request.sent_s + request.elapsed_s
    known = request.sent_s is not None
    return length_turn(
        turn_id,
        LengthPrompt(tokens=request.input_tokens),
        request.output_tokens,
        times=Times(sent_s=request.sent_s, end_s=end_s) if known else None,
        parent=parent.id if parent is not None else None,
        model=request.model,
    )


def _session(key: str, requests: list[_Request], log: ReadLog) -> Session:
    ordered = sorted(requests, key=lambda request: request.sent_s if request.sent_s is not None else 0.0)
    if ordered != requests:
        log.assume("rows of a session out of time order: sorted by time")
    turns: list[Turn] = []
    for number, request in enumerate(ordered, start=1):
        parent = turns[-1] if turns else None
        turn = _turn(f"t{number}", request, parent)
        if parent is not None:
            turns[-1] = _waiting(parent, turn, log)
        turns.append(turn)
    return Session(id=key, turns=tuple(turns), start_s=ordered[0].sent_s)


def _waiting(turn: Turn, child: Turn, log: ReadLog) -> Turn:
    ended, sent = turn.final.times, child.final.times
    if ended is None or sent is None or ended.end_s is None or sent.sent_s is None:
        return turn
    wait_s = sent.sent_s - ended.end_s
    if wait_s < 0:
        log.assume("request sent before the one it follows had ended: no wait between them")
    return replace(turn, user_wait_s=max(0.0, wait_s))
