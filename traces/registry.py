"""The readers: one module a recording format, found by sniffing or by name.

A new format is a module in traces/readers with a READER object.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Protocol, runtime_checkable

from traces import readers as package
from traces.choice import hint
from traces.distinct import distinct_ids
from traces.errors import SimtoolError, TraceError
from traces.model import Session
from traces.modules import modules_in
from traces.readers.base import first_value
from traces.readers.message_list import is_messages
from traces.readlog import ReadLog
from traces.records import dicts, head_values
from traces.source import SourceFile, find_files
from traces.wrapping import Wrapping, unwrapped, unwrapped_head, wrapping

_DISTINCT = frozenset(
    {
        "agentic-mooncake",
        "applied-compute",
        "azure",
        "burstgpt",
        "csv",
        "llmservingsim",
        "mooncake",
        "mooncake-delta",
        "vidur",
    }
)
"""Formats whose readers name the sessions of a file apart: to remember their names would take time and memory."""

_BLANK = b"\xef\xbb\xbf \t\r\n\x0b\x0c"
_WEAK = 0.3
"""Confidence up to which lines may be the members of another format's array."""
_KEYS_SHOWN = 8
_KEY_SHOWN = 40


class UnknownFormatError(TraceError):
    """A file that no reader takes for its own."""


class Reader(Protocol):
    """Reads one recording format."""

    name: str
    """As given to --format."""
    title: str
    """One line for lists of formats."""

    def sniff(self, file: SourceFile, head: bytes) -> float:
        """Confidence in [0, 1] that *file* is of this format, from its first bytes; must not raise."""
        ...

    def read(self, files: Sequence[SourceFile], log: ReadLog) -> Iterator[Session]:
        """Yield the sessions of *files*, which belong to one recording; order is stable.

        Raises TraceError for an unusable record unless the log skips invalid ones.
        """
        ...


@runtime_checkable
class Configurable(Protocol):
    """A reader that can be told more about its files."""

    def configured(self, detail: str) -> Reader:
        """The reader for files as *detail* describes them. Raises SimtoolError for a detail it does not know."""
        ...


@cache
def readers() -> dict[str, Reader]:
    """All readers by name, in alphabetical order: of two that are equally sure of a file the first is taken."""
    found: list[Reader] = [module.READER for module in modules_in(package) if hasattr(module, "READER")]
    return {reader.name: reader for reader in sorted(found, key=lambda reader: reader.name)}


def reader_named(text: str) -> Reader:
    """The reader that *text* names, as in ``mooncake`` or, with details, ``csv:input=Size,output=Answer``.

    Underscores in a name are taken for hyphens. Raises SimtoolError naming the nearest spelling.
    """
    known = readers()
    name, colon, detail = text.partition(":")
    name = name.replace("_", "-")
    if name not in known:
        raise SimtoolError(f"--format {name!r} is not a known format{hint(name, known)} (known: {', '.join(known)})")
    reader = known[name]
    if not colon:
        return reader
    if not isinstance(reader, Configurable):
        raise SimtoolError(f"--format {text!r}: {name} takes no details after a colon")
    return reader.configured(detail)


def sniff(file: SourceFile) -> Reader:
    """The reader most sure of *file*. Raises TraceError when none is."""
    return recognised(file)[0]


def recognised(file: SourceFile, named: Reader | None = None) -> tuple[Reader, SourceFile, Wrapping | None]:
    """The reader of *file* (*named*, or the one most sure of it), the file it is to read, and what that unwraps.

    A file is unwrapped only where its reader is surer of it then. Raises UnknownFormatError if no reader is sure of it.
    """
    head = file.head()
    if not head.strip(_BLANK):
        raise UnknownFormatError(file.name, None, "the file is empty", "name a trace with at least one record")
    known = (named,) if named is not None else tuple(readers().values())
    score, best = _surest(known, file, head)
    kind = wrapping(head)
    if kind is not None and (kind is not Wrapping.MEMBERS or score <= _WEAK):
        inside = unwrapped_head(file, head, kind)
        inner_score, inner = _surest(known, inside, inside.head())
        if inner_score > score or (inner_score == score > 0 and _is_decided(kind, inside)):
            return inner, unwrapped(file, kind), kind
        head = inside.head()
    if score <= 0 and named is None:
        reason = f"no known recording format{_seen(head)}"
        raise UnknownFormatError(file.name, 1, reason, f"name it with --format: {', '.join(readers())}")
    return best, file, None


def _surest(known: Sequence[Reader], file: SourceFile, head: bytes) -> tuple[float, Reader]:
    return max(((reader.sniff(file, head), reader) for reader in known), key=lambda pair: pair[0])


def _is_decided(kind: Wrapping, inside: SourceFile) -> bool:
    """Whether the wrapping of *kind* is sure without a reader: values that follow each other, lines of messages."""
    if kind is Wrapping.MEMBERS:
        return is_messages([row for row in dicts(first_value(inside.head())) if row])
    return kind is Wrapping.VALUES


def _seen(head: bytes) -> str:
    """What the first record looks like, for a message."""
    values = head_values(head)
    rows = dicts(values[0] if values and isinstance(values[0], list) else list(values))
    if not rows:
        return " (it is no JSON object, and no table with known columns)" if not values else " (no record in it)"
    keys = [key if len(key) <= _KEY_SHOWN else f"{key[:_KEY_SHOWN]}..." for key in rows[0]]
    named = ", ".join(keys[:_KEYS_SHOWN]) + (", ..." if len(keys) > _KEYS_SHOWN else "")
    return f" (its first record has the keys {named})" if keys else " (its first record is empty)"


def read_sessions(paths: list[str], log: ReadLog, format_name: str | None = None) -> Iterator[Session]:
    """Yield the sessions of files and folders (see read_files); ``-`` is standard input."""
    return read_files(find_files(paths), log, format_name)


def read_files(files: Sequence[SourceFile], log: ReadLog, format_name: str | None = None) -> Iterator[Session]:
    """Yield the sessions of *files*, those of one format together, in the order of first appearance.

    Files of no known format that were found in a folder are counted as omitted; a file named by itself must be
    readable. Session ids are made distinct. Raises TraceError or SimtoolError on unusable input, also when no session
    was found.
    """
    groups: dict[Reader, list[SourceFile]] = {}
    named = reader_named(format_name) if format_name else None
    for given in files:
        file = replace(given, cut=log.cut) if log.skip_invalid else given
        try:
            reader, content, unwraps = recognised(file, named)
        except UnknownFormatError:
            if not file.in_folder:
                raise
            log.omit("file of no known format")
            continue
        except TraceError as error:
            if not file.in_folder:
                raise
            mend = f"{error.mend}, or leave it out with --skip-invalid"
            log.invalid(file.name, error.line, error.reason, mend, kind="file that cannot be read")
            continue
        if unwraps in (Wrapping.ARRAY, Wrapping.VALUES):
            log.assume(f"file that is {unwraps}: read record by record, messages count records as lines")
        log.formats[reader.name] += 1
        groups.setdefault(reader, []).append(content)
    count = 0
    sessions = (session for reader, members in groups.items() for session in reader.read(members, log))
    distinct = len(files) == 1 and all(reader.name in _DISTINCT for reader in groups)
    for session in sessions if distinct else distinct_ids(sessions, log):
        count += 1
        yield session
    if not count:
        names = ", ".join(file.name for file in files[:3]) + (", ..." if len(files) > 3 else "")
        left_out = "; ".join(f"{number} of: {kind}" for kind, number in log.omitted.items())
        reason = "no usable session in the input" + (f", left out: {left_out}" if left_out else "")
        raise TraceError(names, None, reason, "name a file that holds model output")
