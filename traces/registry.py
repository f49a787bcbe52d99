"""The readers: one module a recording format, found by sniffing or by name.

A new format is a module in traces/readers with a READER object, and its name in READER_MODULES.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import Protocol, runtime_checkable

from traces.distinct import distinct_ids
from traces.errors import SimtoolError, TraceError
from traces.model import Session
from traces.readlog import ReadLog
from traces.source import SourceFile, find_files

READER_MODULES: tuple[str, ...] = (
    "canonical",
    "openai_chat",
    "anthropic_api",
    "openai_responses",
    "tau_bench",
    "tau2",
    "claude_code",
    "mooncake",
    "mooncake_delta",
    "codex",
    "gemini_cli",
    "gemini_responses",
    "kimi_cli",
    "qwen_code",
    "copilot_cli",
    "cursor",
    "droid",
    "pi",
    "hermes_agent",
    "antigravity",
    "opencode",
    "swe_agent",
    "mini_swe_agent",
    "openhands",
    "toolbench",
    "bfcl",
    "inspect_ai",
    "openai_agents",
    "harbor",
    "lmcache",
    "harmony",
    "no_trace",
    "vcr",
    "gemini",
    "otel",
    "openinference",
    "langfuse",
    "azure",
    "burstgpt",
    "vidur",
    "servegen",
    "llmservingsim",
    "agentic_mooncake",
    "applied_compute",
    "weka",
    "dynamo",
    "csv_table",
    "bench_summary",
)

_NUMBERED = frozenset({"mooncake", "azure", "burstgpt", "vidur", "csv", "llmservingsim"})
"""Formats that name the sessions of a file by its lines: remembering so many names takes more memory than they do."""


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
    """All readers by name, in registry order."""
    loaded = [import_module(f"traces.readers.{module}").READER for module in READER_MODULES]
    return {reader.name: reader for reader in loaded}


def reader_named(text: str) -> Reader:
    """The reader that *text* names, as in ``mooncake`` or, with details, ``csv:input=Size,output=Answer``.

    Underscores in a name are taken for hyphens. Raises SimtoolError naming the nearest spelling.
    """
    known = readers()
    name, colon, detail = text.partition(":")
    name = name.replace("_", "-")
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise SimtoolError(f"--format {name!r} is not a known format{hint} (known: {', '.join(known)})")
    reader = known[name]
    if not colon:
        return reader
    if not isinstance(reader, Configurable):
        raise SimtoolError(f"--format {text!r}: {name} takes no details after a colon")
    return reader.configured(detail)


def sniff(file: SourceFile) -> Reader:
    """The reader most sure of *file*. Raises TraceError when none is."""
    head = file.head()
    if not head.strip():
        raise TraceError(file.name, None, "the file is empty", "name a trace with at least one record")
    scored = [(reader.sniff(file, head), reader) for reader in readers().values()]
    score, best = max(scored, key=lambda pair: pair[0])
    if score <= 0:
        raise TraceError(file.name, 1, "no known recording format", f"name it with --format: {', '.join(readers())}")
    return best


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
    for file in files:
        try:
            reader = named or sniff(file)
        except TraceError:
            if not file.in_folder:
                raise
            log.omit("file of no known format")
            continue
        log.formats[reader.name] += 1
        groups.setdefault(reader, []).append(file)
    count = 0
    sessions = (session for reader, members in groups.items() for session in reader.read(members, log))
    numbered = len(files) == 1 and all(reader.name in _NUMBERED for reader in groups)
    for session in sessions if numbered else distinct_ids(sessions, log):
        count += 1
        yield session
    if not count:
        names = ", ".join(file.name for file in files[:3]) + (", ..." if len(files) > 3 else "")
        left_out = "; ".join(f"{number} of: {kind}" for kind, number in log.omitted.items())
        reason = "no usable session in the input" + (f", left out: {left_out}" if left_out else "")
        raise TraceError(names, None, reason, "name a file that holds model output")
