"""Progress on standard error, only on a terminal: by bytes where files are read, with rate and time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from traces.meter import ByteMeter

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_EVERY_S = 0.1


class Reporter:
    """Takes the count so far and shows it, a few times a second, beside the bytes that its meter counted.

    *total* may be set where the counts have an end.
    """

    def __init__(self, bar: Progress, task: TaskID, total: int | None = None) -> None:
        self.meter = ByteMeter()
        self.total = total
        self._bar = bar
        self._task = task
        self._shown_s = 0.0

    def __call__(self, count: int, /) -> None:
        """Show *count*, unless it was shown only just now."""
        now_s = time.monotonic()
        if now_s - self._shown_s < _EVERY_S:
            return
        self._shown_s = now_s
        in_bytes = self.meter.total_bytes or None
        done = self.meter.read_bytes if in_bytes else count
        total = in_bytes or self.total
        shown = f"{count:,}" if self.total is None else f"{count:,} of {self.total:,}"
        self._bar.update(self._task, total=total, completed=done, count=shown, rate=self._rate(done, in_bytes))

    def _rate(self, done: int, in_bytes: int | None) -> str:
        elapsed_s = self._bar.tasks[self._task].elapsed
        if not elapsed_s:
            return ""
        return f"{done / elapsed_s / 1e6:.1f} MB/s" if in_bytes else f"{done / elapsed_s:.2g}/s"


@contextmanager
def progress(label: str, *, enabled: bool) -> Iterator[Reporter | None]:
    """Give what takes the count so far; None, and no output, off a terminal."""
    if not enabled or not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    from simtool.console import stderr_console

    columns = (
        TextColumn("{task.fields[count]} {task.description}"),
        BarColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=stderr_console(), transient=True) as bar:
        yield Reporter(bar, bar.add_task(label, total=None, count="0", rate=""))
