"""Progress of a question asked in Python: a bar, a function of the caller's, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from scenarios.recordings.recording import Progress
from traces.meter import ByteMeter

Wanted = bool | Callable[[int], None]
"""True: a bar on standard error or in the notebook. A function: is called with the count so far."""


class _Counter:
    def __init__(self, tell: Callable[[int], None]) -> None:
        self.meter = ByteMeter()
        self._tell = tell

    def __call__(self, count: int, /) -> None:
        self._tell(count)


@contextmanager
def counting(wanted: Wanted, label: str) -> Iterator[Progress | None]:
    """Give what takes the counts; None if nothing is wanted."""
    if callable(wanted):
        yield _Counter(wanted)
    elif not wanted:
        yield None
    else:
        from rich.console import Console
        from rich.progress import Progress as Bar
        from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.completed:,.0f} {task.description}"), TimeElapsedColumn())
        with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(label, total=None)
            yield _Counter(lambda count: bar.update(task, completed=count))
