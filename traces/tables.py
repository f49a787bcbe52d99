"""Comma-separated tables with a header row, read line by line."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterator, Sequence

from traces.clock import unix_seconds
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


def rows(file: SourceFile, log: ReadLog, wanted: Sequence[str | None]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield (line number, cells of the *wanted* columns) of the records of *file* below its header.

    A column that is None, or that the table lacks, has empty cells. Unreadable records go to *log* as invalid.
    """
    picked: Callable[[list[str]], tuple[str, ...]] | None = None
    delimiter, columns = ",", 0
    for number, raw in file.lines():
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            log.invalid(file.name, number, "not valid UTF-8", kind="line that is not valid UTF-8")
            continue
        if picked is None:
            delimiter = _delimiter(text)
        cells = _cells(text, delimiter)
        if cells is None:
            log.invalid(file.name, number, "not a comma-separated record", kind="line that is no record")
        elif picked is None:
            columns = len(cells)
            picked = _picker([normal(cell) for cell in cells], wanted)
        elif len(cells) != columns:
            reason = f"{len(cells)} cells under {columns} columns"
            log.invalid(file.name, number, reason, kind="record with missing or extra cells")
        else:
            yield number, picked(cells)


def _picker(names: list[str], wanted: Sequence[str | None]) -> Callable[[list[str]], tuple[str, ...]]:
    """Takes the cells of the *wanted* columns out of a record."""
    places = {name: place for place, name in enumerate(names)}
    chosen = [places.get(name, -1) if name is not None else -1 for name in wanted]

    def picked(cells: list[str]) -> tuple[str, ...]:
        return tuple([cells[place].strip() if place >= 0 else "" for place in chosen])

    return picked


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
