"""A short recording, so that many points cost little, and what ends a process at will."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scenarios.sweep.axes import parse_axis
from scenarios.sweep.definition import Request
from scenarios.sweep.document import Summary
from scenarios.sweep.run import Where, sweep
from tests.shared import AGENT_LOOP

SESSIONS = 4


def short_recording(folder: Path) -> Path:
    """The first sessions of the sample."""
    path = folder / "short.jsonl"
    if not path.exists():
        lines = AGENT_LOOP.read_text("utf-8").splitlines(keepends=True)
        path.write_text("".join(lines[: SESSIONS + 1]), "utf-8")
    return path


def swept(
    folder: Path, *axes: str, jobs: int = 2, base: dict[str, Any] | None = None, force: bool = False, **more: Any
) -> Summary:
    """A sweep of the short recording, kept in *folder*."""
    request = Request(axes=tuple(map(parse_axis, axes)), **more)
    recording = short_recording(folder.parent)
    return sweep([str(recording)], base or {}, request, Where(folder=folder, jobs=jobs, force=force))


class DiesOnOpening:
    """What ends the process that unpickles it, *times* times, and is *loaded* afterwards."""

    def __init__(self, loaded: Any, tally: Path, times: int) -> None:
        self._state = (loaded, tally, times)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return die_or_give, self._state


def die_or_give(loaded: Any, tally: Path, times: int) -> Any:
    deaths = len(tally.read_text()) if tally.exists() else 0
    if deaths < times:
        tally.write_text("x" * (deaths + 1))
        os.kill(os.getpid(), signal.SIGKILL)
    return loaded
