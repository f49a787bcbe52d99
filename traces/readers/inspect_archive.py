"""Reads the members of an Inspect ``.eval`` archive, a ZIP file, within bounds."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import PurePosixPath

import orjson

from traces.errors import TraceError
from traces.readlog import ReadLog
from traces.records import Json, as_dict, parsed
from traces.source import SourceFile

MAX_MEMBERS = 100_000
MAX_MEMBER_BYTES = 1 << 29
"""Bytes that one member may have when unpacked: stops a compression bomb."""
MAX_TOTAL_BYTES = 1 << 31
"""Bytes that all members read may have when unpacked."""

_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError)


def archive_parts(file: SourceFile, log: ReadLog) -> Iterator[tuple[str, Json]]:
    """Yield (name, object) of the header and then of each sample, in the order of their names.

    Raises TraceError when the file is no archive or when it breaks a bound; a sample that is not valid JSON is
    an invalid record.
    """
    with _opened(file) as archive:
        names = _names(file, archive)
        left = MAX_TOTAL_BYTES
        for name in names:
            data = _unpacked(file, archive, name, min(left, MAX_MEMBER_BYTES))
            left -= len(data)
            try:
                value = parsed(data)
            except orjson.JSONDecodeError as error:
                log.invalid(
                    file.name, None, f"{name}: not valid JSON: {error.msg}", kind="member that is not valid JSON"
                )
                continue
            yield name, as_dict(value)


def _opened(file: SourceFile) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(io.BytesIO(file.read()))
    except _BROKEN as error:
        raise TraceError(file.name, None, f"not a readable archive: {error}", "check that the file is whole") from error


def _names(file: SourceFile, archive: zipfile.ZipFile) -> list[str]:
    names = archive.namelist()
    if len(names) > MAX_MEMBERS:
        raise TraceError(file.name, None, f"more than {MAX_MEMBERS} members in the archive", "split the log")
    for name in names:
        if "\\" in name or name.startswith("/") or ".." in PurePosixPath(name).parts:
            raise TraceError(file.name, None, f"member {name!r} points outside the archive", "do not trust this file")
    header = [name for name in ("header.json", "_journal/start.json") if name in names][:1]
    samples = sorted({name for name in names if name.startswith("samples/") and name.endswith(".json")})
    return [*header, *samples]


def _unpacked(file: SourceFile, archive: zipfile.ZipFile, name: str, limit: int) -> bytes:
    try:
        with archive.open(name) as stream:
            data = stream.read(limit + 1)
    except _BROKEN as error:
        raise TraceError(file.name, None, f"{name}: cannot unpack: {error}", "check that the file is whole") from error
    if len(data) > limit:
        raise TraceError(file.name, None, f"{name}: more than {limit} bytes when unpacked", "split the log")
    return data
