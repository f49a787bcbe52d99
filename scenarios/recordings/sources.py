"""Recordings by name: files and folders, the shipped sample, and the generated arms of the law's experiment."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from importlib.resources import files as package_files
from pathlib import Path

from scenarios.options.read import ReadOptions
from traces.errors import SimtoolError
from traces.readlog import ReadLog
from traces.source import SourceFile, find_files

SAMPLE = "sample"
"""Name of the shipped recording."""
ARM = "arm:"
"""Before the letter of an arm."""


def find_sources(paths: Sequence[str], options: ReadOptions) -> list[SourceFile]:
    """The files of *paths*; ``sample`` and ``arm:A`` to ``arm:D`` where no file has that name.

    Raises TraceError if there are none, SimtoolError for an arm that is not known.
    """
    named = [path for path in paths if (path == SAMPLE or path.startswith(ARM)) and not Path(path).exists()]
    stored = [path for path in paths if path not in named]
    found = find_files(stored) if stored or not named else []
    for path in named:
        if path == SAMPLE:
            found.append(SourceFile(Path(str(package_files("traces") / "agent_loop.jsonl")), SAMPLE))
        else:
            found.append(_arm(path, options))
    return found


def _arm(name: str, options: ReadOptions) -> SourceFile:
    from scenarios.protocol.arms import PURPOSES, ArmOptions, arm_sessions
    from traces.store import write_trace

    letter = name.removeprefix(ARM).upper()
    if letter not in PURPOSES:
        raise SimtoolError(f"{name}: no such arm; give {', '.join(ARM + one for one in PURPOSES)}")
    sessions = next(sessions for arm, sessions in arm_sessions(ArmOptions(seed=options.seed), options) if arm == letter)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "arm.jsonl"
        write_trace(iter(sessions), path, ReadLog(), "simtool protocol", [f"arm {letter}: {PURPOSES[letter]}"])
        return SourceFile(None, name, data=path.read_bytes())
