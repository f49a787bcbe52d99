"""Comma-separated tables with a header row, read many lines at a time."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from traces.clock import unix_seconds, unix_units
from traces.errors import TraceError
from traces.readlog import ReadLog
from traces.source import SourceFile

_DELIMITERS = ",;\t"
_UNITS_PER_S = {"s": 1.0, "sec": 1.0, "seconds": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
_ABSOLUTE_FROM = 1e9
"""Numbers from here on are Unix times (in s, ms, us or ns); smaller ones count from the trace's start."""
_MAX_COUNT = 1 << 53
_EXACT_DIGITS = 15
"""Numbers of so many digits are below _MAX_COUNT."""
_SPLIT_BELOW = 1 << 17
_BATCH_BYTES = 1 << 17
_ODD = '"\r\t\0\x0b\x0c\x1c\x1d\x1e\x1f'
"""Characters with which a record is no plain row of cells: quotes, ends of lines, white space to strip."""
_QUOTING = re.compile('["\r\n\0]')
"""What a record must be without for its cells to be what stands between the delimiters."""


def normal(name: str) -> str:
    """A column name in lower case with everything but letters and digits as single underscores."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip().lstrip("\ufeff"))
    return re.sub(r"[^a-z0-9]+", "_", spaced.lower()).strip("_")


def header_of(head: bytes) -> tuple[str, ...]:
    """Normalised column names in the first line of *head*; empty if it is no header."""
    line = head.removeprefix(b"\xef\xbb\xbf").partition(b"\n")[0]
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return ()
    cells = _cells(text, _delimiter(text))
    names = tuple(normal(cell) for cell in cells or ())
    return names if len(names) > 1 and any(re.search("[a-z]", name) for name in names) else ()


def batches(file: SourceFile, log: ReadLog, wanted: Sequence[str | None]) -> Iterator[Batch]:
    """Yield the records of *file* below its header, many at a time: the cells of the *wanted* columns.

    A column that is None, or that the table lacks, has empty cells. Unreadable records go to *log* as invalid.
    """
    lines = file.lines()
    table = _table(file, lines, log, wanted)
    if table is None:
        return
    for numbered in _batched(lines):
        numbers, raws = zip(*numbered, strict=True)
        columns = table.columns(raws)
        if columns is not None:
            yield Batch(numbers, columns)
            continue
        for number, raw in numbered:
            cells = _record(file, number, raw, table.delimiter, log)
            if cells is None:
                continue
            if len(cells) == table.width:
                yield Batch((number,), [[cells[place].strip() if place >= 0 else ""] for place in table.places])
            else:
                reason = f"{len(cells)} cells under {table.width} columns"
                log.invalid(file.name, number, reason, kind="record with missing or extra cells")


def _batched(lines: Iterator[tuple[int, bytes]]) -> Iterator[list[tuple[int, bytes]]]:
    batch, size = [], 0
    for line in lines:
        batch.append(line)
        size += len(line[1])
        if size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


class Batch(NamedTuple):
    """Records of a table: their line numbers, and of each wanted column the cells."""

    numbers: Sequence[int]
    columns: list[list[str]]


class _Table(NamedTuple):
    """What a table's header says; *places* of the wanted columns, -1 for none."""

    delimiter: str
    width: int
    places: list[int]

    def columns(self, raws: Sequence[bytes]) -> list[list[str]] | None:
        """The wanted cells of records that can be cut apart together; None where one needs a closer look."""
        data = b"\n".join(raws)
        mark = self.delimiter
        if not data.isascii() or max(map(len, raws)) >= _SPLIT_BELOW:
            return None
        text = data.decode("ascii")
        if any(odd in text for odd in (*_ODD, f" {mark}", f"{mark} ")):
            return None
        lines = text.split("\n")
        if len(lines) != len(raws) or {line.count(mark) for line in lines} != {self.width - 1}:
            return None
        cells = text.replace("\n", mark).split(mark)
        absent = [""] * len(raws)
        return [cells[place :: self.width] if place >= 0 else absent for place in self.places]


def _table(
    file: SourceFile, lines: Iterator[tuple[int, bytes]], log: ReadLog, wanted: Sequence[str | None]
) -> _Table | None:
    """The table whose header is the first readable one of *lines*; None without any."""
    for number, raw in lines:
        delimiter = _delimiter(raw.decode("utf-8", "replace"))
        cells = _record(file, number, raw, delimiter, log)
        if cells is not None:
            places = {normal(cell): place for place, cell in enumerate(cells)}
            chosen = [places.get(name, -1) if name is not None else -1 for name in wanted]
            return _Table(delimiter, len(cells), chosen)
    return None


def _record(file: SourceFile, number: int, raw: bytes, delimiter: str, log: ReadLog) -> list[str] | None:
    """The cells of one record; None if they cannot be told, which goes to *log*."""
    try:
        cells = _cells(raw.decode(), delimiter)
    except UnicodeDecodeError:
        log.invalid(file.name, number, "not valid UTF-8", kind="line that is not valid UTF-8")
        return None
    if cells is None:
        log.invalid(file.name, number, "not a comma-separated record", kind="line that is no record")
    return cells


def counts(cells: list[str]) -> list[int | None]:
    """Token counts of a column (see count)."""
    if max(map(len, cells)) <= _EXACT_DIGITS and all(cells):
        joined = "".join(cells)
        if joined.isascii() and joined.isdigit():
            return list(map(int, cells))
    return list(map(count, cells))


def times(cells: list[str], column: str) -> list[float | None]:
    """Times of a column in seconds (see seconds)."""
    try:
        values = list(map(float, cells))
    except ValueError:
        return [seconds(cell, column) for cell in cells]
    units = _UNITS_PER_S.get(column.rpartition("_")[2])
    if units is None and max(values) >= _ABSOLUTE_FROM:
        units = unix_units(min(values), max(values)) if min(values) >= _ABSOLUTE_FROM else None
        if units is None:
            return [seconds(cell, column) for cell in cells]
    if not math.isfinite(sum(values)):
        return [seconds(cell, column) for cell in cells]
    return list(values) if units is None else [value / units for value in values]


def count(text: str) -> int | None:
    """A token count; None for what is no whole number of zero or more."""
    if text.isdigit() and len(text) <= _EXACT_DIGITS and text.isascii():
        return int(text)
    try:
        value = float(text)
    except ValueError:
        return None
    return int(value) if math.isfinite(value) and 0 <= value <= _MAX_COUNT and value == int(value) else None


def seconds(text: str, column: str) -> float | None:
    """A time cell in seconds; the unit is told by the column's suffix (``_ms``), else by the number's size."""
    if ":" in text:
        return unix_seconds(text)
    try:
        value = float(text)
    except ValueError:
        return unix_seconds(text) if text else None
    if not math.isfinite(value):
        return None
    units = _UNITS_PER_S.get(column.rpartition("_")[2])
    if units is not None:
        return value / units
    return unix_seconds(value) if value >= _ABSOLUTE_FROM else value


def no_column(file: SourceFile, what: str, names: tuple[str, ...]) -> TraceError:
    """The error of a table that lacks a needed column."""
    return TraceError(
        file.name,
        1,
        f"no column for the {what} (columns: {', '.join(names) or 'none'})",
        "name the columns with --format csv:arrival=NAME,input=NAME,output=NAME",
    )


def _delimiter(text: str) -> str:
    return max(_DELIMITERS, key=lambda mark: (text.count(mark), -_DELIMITERS.index(mark)))


def _cells(text: str, delimiter: str) -> list[str] | None:
    if len(text) < _SPLIT_BELOW and not _QUOTING.search(text):
        return text.split(delimiter)
    try:
        return next(csv.reader([text], delimiter=delimiter, strict=True), None)
    except csv.Error:
        return None
