"""The canonical trace on disk: JSON lines, a header and then a session a line; and its JSON Schema."""

from __future__ import annotations

import gzip
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

import msgspec
import zstandard
from msgspec.structs import replace

from traces.atomic import whole_file
from traces.errors import TraceError
from traces.idrun import IdRun
from traces.model import SCHEMA_VERSION, LengthPrompt, MessagePrompt, Session, Turn
from traces.readlog import ReadLog

_PACKED = (".gz", ".zst")


class TraceHeader(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """First line of a canonical trace: where it came from, and what reading the source left out or assumed."""

    simtool_trace: int
    """Schema version."""
    source_format: str = ""
    notes: tuple[str, ...] = ()
    assumptions: dict[str, int] = {}
    omitted: dict[str, int] = {}
    duplicates: dict[str, int] = {}


def header_of(log: ReadLog, source_format: str = "", notes: Iterable[str] = ()) -> TraceHeader:
    """The header of a trace that was read with *log*."""
    return TraceHeader(
        simtool_trace=SCHEMA_VERSION,
        source_format=source_format,
        notes=tuple(notes),
        assumptions=dict(log.assumptions),
        omitted=dict(log.omitted),
        duplicates=dict(log.duplicates),
    )


def recall(header: TraceHeader, log: ReadLog) -> None:
    """Give *log* what the trace's header says of its source."""
    for text, count in header.assumptions.items():
        log.assume(text, count)
    for kind, count in header.omitted.items():
        log.omit(kind, count)
    for kind, count in header.duplicates.items():
        log.duplicate(kind, count)


def check_version(header: TraceHeader, path: str) -> None:
    """Raise TraceError for a trace of a later schema version than this one reads."""
    if not 1 <= header.simtool_trace <= SCHEMA_VERSION:
        reason = f"schema version {header.simtool_trace} is not one of 1 to {SCHEMA_VERSION}"
        raise TraceError(path, 1, reason, "read it with the version of simtool that wrote it")


def write_trace(
    sessions: Iterable[Session], target: Path, log: ReadLog, source_format: str = "", notes: Iterable[str] = ()
) -> int:
    """Write *sessions* to *target* and return their number; nothing is left of it on an error.

    Parquet for a name that ends in .parquet, else JSON lines, compressed for .gz and .zst. The sessions may be
    read lazily: what *log* holds at their end goes into the header.
    """
    if target.suffix == ".parquet":
        from traces.parquet import write_parquet

        return write_parquet(sessions, target, lambda: header_of(log, source_format, notes))
    encoder = msgspec.json.Encoder()
    said = tuple(notes)

    def header() -> bytes:
        return encoder.encode(header_of(log, source_format, said)) + b"\n"

    def write_to(body: IO[bytes]) -> int:
        count = 0
        for session in sessions:
            body.write(encoder.encode(listed(session)) + b"\n")
            count += 1
        return count

    with whole_file(target) as temporary:
        if target.suffix in _PACKED:
            return _write_packed(write_to, temporary, target, header)
        return _write_plain(write_to, temporary, header)


def _write_plain(write_to: Callable[[IO[bytes]], int], temporary: Path, header: Callable[[], bytes]) -> int:
    """Write the header as it is now and the sessions; over again only if the header is another at their end."""
    first = header()
    with temporary.open("w+b") as body:
        body.write(first)
        count = write_to(body)
        last = header()
        if last != first:
            body.seek(len(first))
            temporary.unlink()
            with temporary.open("wb") as sink:
                sink.write(last)
                shutil.copyfileobj(body, sink, 1 << 20)
    return count


def _write_packed(
    write_to: Callable[[IO[bytes]], int], temporary: Path, target: Path, header: Callable[[], bytes]
) -> int:
    with tempfile.TemporaryFile(dir=target.parent) as body:
        count = write_to(body)
        body.seek(0)
        with _compressed(temporary, target.suffix) as sink:
            sink.write(header())
            shutil.copyfileobj(body, sink, 1 << 20)
    return count


def listed(session: Session) -> Session:
    """*session* as it is written: with block ids one by one."""
    if not any(
        isinstance(turn.prompt, LengthPrompt) and isinstance(turn.prompt.block_ids, IdRun) for turn in session.turns
    ):
        return session
    return replace(session, turns=tuple([_listed(turn) for turn in session.turns]))


def _listed(turn: Turn) -> Turn:
    prompt = turn.prompt
    if isinstance(prompt, MessagePrompt) or isinstance(prompt.block_ids, tuple):
        return turn
    return replace(turn, prompt=replace(prompt, block_ids=tuple(prompt.block_ids)))


def trace_schema() -> dict[str, object]:
    """JSON Schema of one line of a canonical trace: the header or a session."""
    references, definitions = msgspec.json.schema_components(
        (TraceHeader, Session), schema_hook=lambda _: {"description": "any JSON value"}, ref_template="#/$defs/{name}"
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "simtool trace line",
        "anyOf": list(references),
        "$defs": definitions,
    }


@contextmanager
def _compressed(path: Path, suffix: str) -> Iterator[IO[bytes]]:
    with path.open("wb") as raw:
        if suffix == ".gz":
            with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed:
                yield cast("IO[bytes]", packed)
        else:
            with zstandard.ZstdCompressor().stream_writer(raw) as packed:
                yield packed
