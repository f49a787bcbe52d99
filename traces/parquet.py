"""The canonical trace as Parquet: one row a turn, with columns to query and the record itself, without loss."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec.structs import replace

from traces.atomic import whole_file
from traces.errors import TraceError
from traces.model import LengthPrompt, Session, ToolCallBlock, Turn, Verdict
from traces.source import SourceFile
from traces.store import TraceHeader, listed

_HEADER_KEY = b"simtool_trace"
_MEND = "write it with `simtool convert`"
_GROUP_ROWS = 8192
_GROUP_BYTES = 64 << 20

_TYPES = {"text": pa.string(), "whole": pa.int64(), "seconds": pa.float64()}
_COLUMNS = {
    "session_index": "whole",
    "session_id": "text",
    "agent": "text",
    "start_s": "seconds",
    "turn_index": "whole",
    "turn_id": "text",
    "parent": "text",
    "model": "text",
    "sent_s": "seconds",
    "first_token_s": "seconds",
    "end_s": "seconds",
    "n_attempts": "whole",
    "n_rejected": "whole",
    "n_tool_calls": "whole",
    "prompt_tokens": "whole",
    "input_tokens": "whole",
    "cached_tokens": "whole",
    "cache_write_tokens": "whole",
    "output_tokens": "whole",
    "reasoning_tokens": "whole",
    "tool_wait_s": "seconds",
    "user_wait_s": "seconds",
    "finish_reason": "text",
    "session_json": "text",
    "turn_json": "text",
}
"""Columns by kind. session_json stands in a session's first row only, without the turns; prompt_tokens is the
length of a prompt known by length only; counts and times are those of the last attempt."""

_SCHEMA = pa.schema([(name, _TYPES[kind]) for name, kind in _COLUMNS.items()])
_Row = dict[str, object]


def write_parquet(sessions: Iterable[Session], target: Path, header: Callable[[], TraceHeader]) -> int:
    """Write *sessions* to *target* and return their number; *header* is asked for at the end."""
    rows: list[_Row] = []
    size = count = 0
    with whole_file(target) as temporary, pq.ParquetWriter(temporary, _SCHEMA, compression="zstd") as writer:
        for index, session in enumerate(sessions):
            for row in _rows(index, listed(session)):
                rows.append(row)
                size += len(str(row["session_json"])) + len(str(row["turn_json"]))
            count += 1
            if len(rows) >= _GROUP_ROWS or size >= _GROUP_BYTES:
                writer.write_table(pa.Table.from_pylist(rows, schema=_SCHEMA))
                rows, size = [], 0
        writer.write_table(pa.Table.from_pylist(rows, schema=_SCHEMA))
        writer.add_key_value_metadata({_HEADER_KEY: msgspec.json.encode(header())})
    return count


def read_parquet(file: SourceFile, headed: Callable[[TraceHeader], None]) -> Iterator[tuple[int, Session]]:
    """Yield (row number from 1, session) of *file*, after giving its header to *headed*.

    Raises TraceError if it is no Parquet file of this form.
    """
    with file.open() as stream:
        try:
            table = pq.ParquetFile(stream if stream.seekable() else io.BytesIO(stream.read()))
        except (pa.ArrowException, OSError) as error:
            reason = f"not a readable Parquet file: {error}"
            raise TraceError(file.name, None, reason, "check that it is whole") from error
        with table:
            headed(_header(file, table))
            yield from _sessions(file, table)


def _header(file: SourceFile, table: pq.ParquetFile) -> TraceHeader:
    metadata = table.metadata.metadata or {}
    names = table.schema_arrow.names
    missing = next((name for name in ("session_json", "turn_json") if name not in names), None)
    if _HEADER_KEY not in metadata or missing is not None:
        reason = "a Parquet file without simtool's header" if missing is None else f"no column {missing!r}"
        raise TraceError(file.name, None, reason, _MEND)
    try:
        return msgspec.json.decode(metadata[_HEADER_KEY], type=TraceHeader)
    except msgspec.MsgspecError as error:
        raise TraceError(file.name, None, f"header: {error}", _MEND) from error


def _rows(index: int, session: Session) -> Iterator[_Row]:
    shared: _Row = {
        "session_index": index,
        "session_id": session.id,
        "agent": session.agent,
        "start_s": session.start_s,
    }
    frame = msgspec.json.encode(replace(session, turns=())).decode()
    if not session.turns:
        yield {**shared, "session_json": frame}
    for number, turn in enumerate(session.turns):
        row = {**shared, **_turn_columns(turn), "turn_index": number}
        row["session_json"] = frame if number == 0 else None
        row["turn_json"] = msgspec.json.encode(turn).decode()
        yield row


def _turn_columns(turn: Turn) -> _Row:
    final = turn.final
    waits = [wait.duration_s for wait in turn.tool_waits if wait.duration_s is not None]
    row: _Row = {
        "turn_id": turn.id,
        "parent": turn.parent,
        "model": turn.model,
        "n_attempts": len(turn.attempts),
        "n_rejected": sum(attempt.verdict is Verdict.REJECTED for attempt in turn.attempts),
        "n_tool_calls": sum(isinstance(block, ToolCallBlock) for block in final.output),
        "prompt_tokens": turn.prompt.tokens if isinstance(turn.prompt, LengthPrompt) else None,
        "tool_wait_s": max(waits, default=None),
        "user_wait_s": turn.user_wait_s,
        "finish_reason": final.finish_reason,
    }
    if final.usage is not None:
        row |= msgspec.structs.asdict(final.usage)
    if final.times is not None:
        row |= msgspec.structs.asdict(final.times)
    return row


def _sessions(file: SourceFile, table: pq.ParquetFile) -> Iterator[tuple[int, Session]]:
    session: Session | None = None
    turns: list[Turn] = []
    first = number = 0
    for batch in table.iter_batches(batch_size=1024, columns=["session_json", "turn_json"]):
        for row in batch.to_pylist():
            number += 1
            try:
                if row["session_json"] is not None:
                    if session is not None:
                        yield first, replace(session, turns=tuple(turns))
                    session = msgspec.json.decode(row["session_json"], type=Session)
                    turns, first = [], number
                if row["turn_json"] is not None:
                    turns.append(msgspec.json.decode(row["turn_json"], type=Turn))
            except msgspec.MsgspecError as error:
                raise TraceError(file.name, number, str(error), _MEND) from error
    if session is not None:
        yield first, replace(session, turns=tuple(turns))
