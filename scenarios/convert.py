"""Recordings to files: the canonical form, or the formats of other tools."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from scenarios.anonymize import NOTE, Anonymizer
from scenarios.readoptions import ReadOptions
from scenarios.recording import Progress, Recording, counted, known_format, metered, read_log, session_tagger
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
    progress: Progress | None = None,
) -> tuple[int, ReadLog]:
    """Read *paths* and write them to *target* as a canonical trace without text (see scenarios.anonymize).

    Returns and raises as convert does. The trace does not say what was left out or assumed while reading, since the
    reasons may quote the recording.
    """
    recording = Recording(files=find_files(list(paths)), log=read_log(options), sha256="")
    sessions, options = known_format(recording, options, progress)
    anonymizer = Anonymizer(session_tagger(options), keep_tool_names=keep_tool_names)
    count = write_trace(anonymizer.sessions(sessions), target, ReadLog(), notes=(NOTE,))
    return count, recording.log
