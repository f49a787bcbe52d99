"""What a report is made of: the folder or the result file of a replay, or the result file of a check of the law."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from scenarios import answer
from scenarios.answer import Answer
from scenarios.law.lawcheck import LawCheck
from scenarios.report.swept import SweptPoints, read_sweep
from scenarios.runs import outputs
from scenarios.runs.rundetails import RunDetails
from traces.errors import SimtoolError, TraceError

MAKE = "make one with: simtool replay TRACE -o DIR"
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """Tables of a run's folder."""

    turns: pa.Table
    baseline_turns: pa.Table | None
    load: pa.Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One replay."""

    name: str
    """Last part of the path that it was read from."""
    answer: Answer
    tables: Tables | None
    """None for a result file without a folder."""
    details: RunDetails | None

    @property
    def drafter_measured(self) -> bool:
        """Whether the drafter ran on the recorded tokens, so that its rounds are known and not expected."""
        acceptance = self.answer.config.get("acceptance")
        return acceptance is not None and str(acceptance.value).startswith("measured: ")


@dataclass(frozen=True, slots=True)
class Runs:
    """The replay that a page is about, and others, or the points of a sweep, that it is set beside."""

    main: Run
    others: tuple[Run, ...] = ()
    sweep: SweptPoints | None = None

    @property
    def all(self) -> tuple[Run, ...]:
        """Every run, the page's own first."""
        return (self.main, *self.others)


@dataclass(frozen=True, slots=True, kw_only=True)
class LawTruth:
    """One check of the law."""

    name: str
    check: LawCheck


Subject = Runs | LawTruth


def read_subject(paths: Sequence[str]) -> Subject:
    """What the folders and result files at *paths* hold; ``-`` reads one from standard input.

    Raises SimtoolError for what is neither, and for a check of the law beside anything else.
    """
    found = [_read(path) for path in paths]
    checks = [one for one in found if isinstance(one, LawTruth)]
    if checks and len(found) > 1:
        raise SimtoolError("a result of simtool law-check has a report of its own: give it alone")
    if checks:
        return checks[0]
    runs = [one for one in found if isinstance(one, Run)]
    return Runs(runs[0], tuple(runs[1:]))


def with_sweep(subject: Subject, folder: Path | None) -> Subject:
    """*subject* with the points of the sweep in *folder* beside it. Raises SimtoolError for a check of the law."""
    if folder is None:
        return subject
    if isinstance(subject, LawTruth):
        raise SimtoolError("a sweep stands beside replays: leave --sweep out for a result of simtool law-check")
    return replace(subject, sweep=read_sweep(folder))


def _read(given: str) -> Run | LawTruth:
    if given == "-":
        return _document(sys.stdin.buffer.read(), "(standard input)", "result")
    path = Path(given)
    name = path.resolve().name
    if not path.exists():
        raise SimtoolError(f"{given}: no such file or folder ({MAKE})")
    if not path.is_dir():
        return _document(_bytes(path), given, name)
    if not (path / outputs.SUMMARY).is_file():
        raise SimtoolError(f"{given}: no run, as it holds no {outputs.SUMMARY} ({MAKE})")
    summary = _document(_bytes(path / outputs.SUMMARY), str(path / outputs.SUMMARY), name)
    if isinstance(summary, LawTruth):
        return summary
    return Run(name=name, answer=summary.answer, tables=_tables(path), details=_details(path))


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SimtoolError(f"{path}: cannot be read: {error.strerror or error}") from error


def _document(data: bytes, place: str, name: str) -> Run | LawTruth:
    try:
        document = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise TraceError(
            place, None, f"not JSON: {error}", f"give a run's folder or its --json file; {MAKE}"
        ) from error
    if isinstance(document, dict) and "approximations" in document:
        return LawTruth(name=name, check=_typed(document, LawCheck, place))
    if not isinstance(document, dict) or "schema_version" not in document or "replay" not in document:
        raise TraceError(place, None, "no result of simtool replay or simtool law-check", MAKE)
    if document["schema_version"] != answer.SCHEMA_VERSION:
        reason = f"result of version {document['schema_version']!r}; this simtool reads {answer.SCHEMA_VERSION}"
        raise TraceError(place, None, reason, "replay again with this simtool")
    return Run(name=name, answer=_typed(document, Answer, place), tables=None, details=None)


def _typed(document: Any, kind: type[_T], place: str) -> _T:
    try:
        return msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        raise TraceError(place, None, f"not as this simtool writes it: {error}", "replay again with it") from error


def _tables(folder: Path) -> Tables | None:
    if not (folder / outputs.TURNS).is_file() or not (folder / outputs.LOAD).is_file():
        return None
    baseline = folder / outputs.BASELINE_TURNS
    return Tables(
        turns=_table(folder / outputs.TURNS),
        baseline_turns=_table(baseline) if baseline.is_file() else None,
        load=_table(folder / outputs.LOAD),
    )


def _table(path: Path) -> pa.Table:
    try:
        return pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise TraceError(str(path), None, f"not a Parquet file: {error}", "replay again") from error


def _details(folder: Path) -> RunDetails | None:
    path = folder / outputs.DETAILS
    if not path.is_file():
        return None
    try:
        return msgspec.json.decode(_bytes(path), type=RunDetails)
    except msgspec.DecodeError as error:
        raise TraceError(str(path), None, f"not as this simtool writes it: {error}", "replay again with it") from error
