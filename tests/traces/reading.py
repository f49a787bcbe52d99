"""Reading bytes as a file of a format, for the tests of readers."""

from __future__ import annotations

from traces.model import Session
from traces.readlog import ReadLog
from traces.registry import reader_named, sniff
from traces.source import SourceFile


def read(format_name: str, data: bytes | str, log: ReadLog | None = None, name: str = "trace.jsonl") -> list[Session]:
    """The sessions that the named reader makes of *data*, which sniffing must also recognise as that format."""
    raw = data.encode() if isinstance(data, str) else data
    file = SourceFile(None, name, raw)
    assert sniff(file).name == format_name
    return list(reader_named(format_name).read([file], log or ReadLog()))


def read_only(
    format_name: str, data: bytes | str, log: ReadLog | None = None, name: str = "trace.jsonl"
) -> list[Session]:
    """The sessions that the named reader makes of *data*, without sniffing."""
    raw = data.encode() if isinstance(data, str) else data
    return list(reader_named(format_name).read([SourceFile(None, name, raw)], log or ReadLog()))
