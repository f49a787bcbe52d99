"""Tables of requests by arrival and lengths: which column means what, and their sessions."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from traces.lengths import OUTPUTS, turn_name, usable_lengths
from traces.model import Attempt, LengthPrompt, Session, Times, Turn, Usage
from traces.readers.base import stem
from traces.readlog import ReadLog
from traces.source import SourceFile
from traces.tables import Batch, batches, counts, header_of, no_column, times


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
    input_tokens: int
    output_tokens: int
    sent_s: float | None
    elapsed_s: float | None
    model: str | None


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
    for batch in batches(file, log, wanted):
        keys = batch.columns[-1]
        for request, key in zip(_requests(file, batch, columns, log), keys, strict=True):
            if request is None:
                continue
            if key:
                groups.setdefault(key, []).append(request)
            else:
                yield Session(id=f"{prefix}:{request.line}", turns=(_turn("t1", request),), start_s=request.sent_s)
    for key in list(groups):
        yield _session(key, groups.pop(key), log)


def _requests(file: SourceFile, batch: Batch, columns: Columns, log: ReadLog) -> Iterator[_Request | None]:
    """Yield the request of each record; None for one that is none, which goes to *log*."""
    cells = batch.columns
    none = [None] * len(batch.numbers)
    values = (
        batch.numbers,
        counts(cells[0]),
        counts(cells[1]),
        times(cells[2], columns.arrival) if columns.arrival is not None else none,
        times(cells[3], columns.elapsed) if columns.elapsed is not None else none,
        cells[4],
    )
    for line, input_tokens, output_tokens, sent_s, elapsed_s, model in zip(*values, strict=True):
        if input_tokens is None or output_tokens is None:
            reason = "a token count is no whole number of zero or more"
            log.invalid(file.name, line, reason, kind=reason)
            yield None
        elif sent_s is None and columns.arrival is not None:
            reason = f"no readable time in column {columns.arrival!r}"
            log.invalid(file.name, line, reason, kind=reason)
            yield None
        elif (input_tokens and output_tokens) or usable_lengths(input_tokens, output_tokens, log):
            yield _Request(line, input_tokens, output_tokens, sent_s, elapsed_s, model or None)
        else:
            yield None


def _turn(turn_id: str, request: _Request, parent: str | None = None) -> Turn:
    tokens, output_tokens, sent_s = request.input_tokens, request.output_tokens, request.sent_s
    times = None
    if sent_s is not None:
        took_s = request.elapsed_s
        times = Times(sent_s=sent_s, end_s=sent_s + took_s if took_s is not None and took_s >= 0 else None)
    usage = Usage(input_tokens=tokens, output_tokens=output_tokens)
    return Turn(
        id=turn_id,
        prompt=LengthPrompt(tokens=tokens),
        attempts=(Attempt(output=OUTPUTS[output_tokens], usage=usage, times=times),),
        parent=parent,
        model=request.model,
    )


def _session(key: str, requests: list[_Request], log: ReadLog) -> Session:
    ordered = sorted(requests, key=lambda request: request.sent_s if request.sent_s is not None else 0.0)
    if ordered != requests:
        log.assume("rows of a session out of time order: sorted by time")
    turns: list[Turn] = []
    for number, request in enumerate(ordered, start=1):
        parent = turns[-1] if turns else None
        turn = _turn(turn_name(number), request, parent.id if parent is not None else None)
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
