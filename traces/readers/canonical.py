"""Reads the canonical trace back: JSON lines with or without their header, and Parquet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from traces.checks import problems
from traces.errors import TraceError
from traces.model import Session
from traces.readlog import ReadLog
from traces.records import head_objects
from traces.source import SourceFile
from traces.store import TraceHeader, check_version, recall

_HEADER_KEY = b'"simtool_trace"'
_PARQUET_MAGIC = b"PAR1"
_MEND = "see `simtool schema trace`, or leave the record out with --skip-invalid"


class CanonicalReader:
    """Reads what traces.store and traces.parquet write."""

    name = "canonical"
    title = "simtool's own trace, JSONL or Parquet"

    def sniff(self, file: SourceFile, head: bytes) -> float:  # noqa: ARG002
        """The header's first key or the Parquet magic; without a header, turns that hold attempts."""
        if head.startswith(_PARQUET_MAGIC):
            return 0.9
        rows = head_objects(head)
        if not rows:
            return 0.0
        if "simtool_trace" in rows[0]:
            return 1.0
        turns = rows[0].get("turns")
        if not isinstance(turns, list) or not turns or not isinstance(turns[0], dict):
            return 0.0
        return 0.95 if "prompt" in turns[0] and "attempts" in turns[0] else 0.0

    def read(self, files: Sequence[SourceFile], log: ReadLog) -> Iterator[Session]:
        """Yield the sessions of each file; ids must differ between all of them."""
        seen: set[str] = set()
        for file in files:
            for line, session in _sessions(file, log):
                reason = next(problems(session), None)
                if reason is None and session.id in seen:
                    reason = f"$.id: session id {session.id!r} is there twice"
                if reason is not None:
                    log.invalid(file.name, line, reason, _MEND, kind="session that breaks a rule of the trace form")
                    continue
                seen.add(session.id)
                yield session


READER = CanonicalReader()


def _sessions(file: SourceFile, log: ReadLog) -> Iterator[tuple[int, Session]]:
    with file.open() as stream:
        magic = stream.read(len(_PARQUET_MAGIC))
    if magic == _PARQUET_MAGIC:
        from traces.parquet import read_parquet

        yield from read_parquet(file, lambda header: _headed(header, file, log))
        return
    headers, sessions_of = msgspec.json.Decoder(TraceHeader), msgspec.json.Decoder(Session)
    for number, line in file.lines():
        try:
            if _HEADER_KEY in line[:64]:
                _headed(headers.decode(line), file, log)
            else:
                yield number, sessions_of.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            _refuse(file, number, line, error, log)


def _headed(header: TraceHeader, file: SourceFile, log: ReadLog) -> None:
    check_version(header, file.name)
    recall(header, log)


def _refuse(file: SourceFile, number: int, line: bytes, error: Exception, log: ReadLog) -> None:
    if _HEADER_KEY in line[:64]:
        raise TraceError(file.name, number, f"header: {error}", _MEND) from error
    log.invalid(file.name, number, str(error), _MEND, kind="line that is no session")
