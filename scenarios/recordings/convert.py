"""Recordings to files: the canonical form, or the formats of other tools."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

from scenarios.options.read import ReadOptions
from scenarios.recordings.anonymize import NOTE, Anonymizer
from scenarios.recordings.recording import (
    Progress,
    counted,
    known_format,
    metered,
    open_recording,
    read_log,
    session_tagger,
)
from traces.export import EXPORTS
from traces.readlog import ReadLog
from traces.registry import read_files
from traces.source import find_files
from traces.store import write_trace

CANONICAL = "simtool"


def targets() -> tuple[str, ...]:
    """Formats that can be written."""
    return (CANONICAL, *EXPORTS)


def convert(
    paths: Sequence[str],
    target: Path,
    *,
    to: str = CANONICAL,
    options: ReadOptions | None = None,
    progress: Progress | None = None,
) -> tuple[int, ReadLog]:
    """Read *paths* and write *target* as *to*; return what was written, in sessions or rows, and the log.

    Raises TraceError or SimtoolError; *target* then stays what it was.
    """
    read = options or ReadOptions()
    log = read_log(read)
    files = metered(find_files(list(paths)), progress)
    sessions = counted(read_files(files, log, read.format_name), progress)
    if to == CANONICAL:
        return write_trace(sessions, target, log, source_format=read.format_name or ""), log
    return EXPORTS[to](sessions, target, log), log


def convert_anonymized(
    paths: Sequence[str],
    target: Path,
    options: ReadOptions,
    *,
    keep_tool_names: bool = False,
    salt: str | None = None,
    progress: Progress | None = None,
) -> tuple[int, ReadLog]:
    """Read *paths* and write them to *target* as a canonical trace without text (see scenarios.recordings.anonymize).

    Ids are hashed with *salt*; None: with the hash of the files, which nobody can guess who does not have them; an
    empty one: without salt, so that a replay draws the same, and whoever guesses an id can confirm it.

    Returns and raises as convert does. The trace does not say what was left out or assumed while reading, since the
    reasons may quote the recording.
    """
    recording = open_recording(paths, options, progress)
    sessions, options = known_format(recording, options, progress)
    secret = recording.sha256 if salt is None else salt
    key = blake2b(secret.encode("utf-8", "surrogatepass")).digest() if secret else b""
    anonymizer = Anonymizer(session_tagger(options), salt=key, keep_tool_names=keep_tool_names)
    count = write_trace(anonymizer.sessions(sessions), target, ReadLog(), notes=(NOTE,))
    return count, recording.log
