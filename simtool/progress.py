"""Progress on standard error, only on a terminal: by bytes where files are read, with rate and time left."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from traces.meter import ByteMeter

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.progress import Progress


_REPLAYED = "requests replayed"


class Reporter:
    """Takes the count so far, and shows it beside the bytes that its meter counted whenever the terminal is redrawn.

    *total* may be set where the counts have an end.
    """

    def __init__(self, bar: Progress, label: str, total: int | None = None) -> None:
        self.meter = ByteMeter()
        self.total = total
        self._count = 0
        self._label = label
        self._shown = ("", label)
        self._bar = bar
        self._task = bar.add_task(label, total=None, count="", rate="")

    def __call__(self, count: int, /) -> None:
        """Take *count*."""
        self._count = count

    def of(self, count: int, total: int, /) -> None:
        """Take *count* of *total*."""
        self.total = total
        self._count = count

    def replayed(self, count: int, total: int, /) -> None:
        """Take *count* of *total* requests: what was read is over."""
        if self._label != _REPLAYED:
            self._label = _REPLAYED
            self.meter = ByteMeter()
        self.of(count, total)

    def draw(self) -> None:
        """Bring what the terminal shows up to date."""
        label, stage, in_bytes, count = self._label, self.meter.stage, self.meter.total_bytes, self._count
        if (stage, label) != self._shown:
            self._shown = stage, label
            self._bar.reset(self._task, total=None)
        done = self.meter.read_bytes if in_bytes else count
        shown = f"{count:,}" if self.total is None else f"{count:,} of {self.total:,}"
        self._bar.update(
            self._task,
            total=in_bytes or self.total,
            completed=done,
            count="" if stage else shown,
            description=stage or label,
            rate=self._rate(done, 0 if done >= in_bytes and not stage else in_bytes),
        )

    def _rate(self, done: int, in_bytes: int) -> str:
        """By bytes as long as there are some to read: sessions may come after all of them."""
        elapsed_s = self._bar.tasks[self._task].elapsed
        if not elapsed_s:
            return ""
        return f"{done / elapsed_s / 1e6:.1f} MB/s" if in_bytes else f"{self._count / elapsed_s:,.0f}/s"


@contextmanager
def progress(label: str, *, enabled: bool) -> Iterator[Reporter | None]:
    """Give what takes the count so far; None, and no output, off a terminal.

    A thread redraws the terminal, so that what takes long without a count is seen to go on.
    """
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
    reporters: list[Reporter] = []

    class Drawn(Progress):
        """A bar that asks for what there is to show when it is drawn."""

        def get_renderables(self) -> Iterable[RenderableType]:
            for reporter in reporters:
                reporter.draw()
            return super().get_renderables()

    with Drawn(*columns, console=stderr_console(), transient=True) as bar:
        reporters.append(Reporter(bar, label))
        yield reporters[0]


def reading(no_progress: bool) -> AbstractContextManager[Reporter | None]:
    """Progress of reading recordings, and of replays of them afterwards (`replaying`)."""
    return progress("sessions read", enabled=not no_progress)


def replaying(reporter: Reporter | None) -> Callable[[int, int], None] | None:
    """What takes how many requests are replayed, and of how many; None where nothing is shown."""
    return None if reporter is None else reporter.replayed
