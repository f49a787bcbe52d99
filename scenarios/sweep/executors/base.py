"""What an executor does, and how one is found by name.

An executor is one module in this folder with ``make(Resources) -> Executor``; its name is the module's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from scenarios.options.replay import OptionError
from scenarios.recordings.loaded import Loaded
from scenarios.sweep.work import Failure, Task, Worked, failed
from traces.choice import did_you_mean
from traces.modules import names_in

PACKAGE = "scenarios.sweep.executors"
TRIES = 2
"""Processes that may die on a run before it is given up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What an executor may use."""

    jobs: int | None
    """Runs at a time; None: as many as there are cores."""
    address: str | None
    """Of a cluster."""
    folder: Path
    """For files of this run, which is there and empty, and removed afterwards."""


@dataclass(frozen=True, slots=True)
class Done:
    """A task with its result."""

    task: Task
    worked: Worked


class Executor(Protocol):
    """Does tasks, in any order."""

    def share(self, reading: str, loaded: Loaded) -> None:
        """Give all workers *loaded* under the name *reading*, before any task that names it."""
        ...

    def run(self, tasks: Sequence[Task]) -> Iterator[Done]:
        """Yield *tasks* with their results as they become known."""
        ...

    def close(self) -> None:
        """Stop at once, whatever is under way."""
        ...


class Deaths:
    """Counts how often processes died on a task."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def last(self, task: Task, how: str) -> Done | None:
        """What becomes of *task*, on which a process just died: None to try again, else its failure."""
        self._counts[task.key] += 1
        if self._counts[task.key] < TRIES:
            return None
        text = f"the process that worked on it died {TRIES} times ({how}); is there memory for that many --jobs?"
        return Done(task, failed(Failure.DIED, text))


def executor_names() -> list[str]:
    """Names of the executors there are."""
    return names_in(import_module(PACKAGE))


def check_executor(name: str) -> None:
    """Raise OptionError unless there is an executor called *name*."""
    names = executor_names()
    if name not in names:
        guess = did_you_mean(name, names, f"known are {', '.join(names)}")
        raise OptionError(f"--executor {name!r} is not known; {guess}")


def make_executor(name: str, resources: Resources) -> Executor:
    """The executor called *name*. Raises OptionError for an unknown one, SimtoolError where it cannot start."""
    check_executor(name)
    return cast("Executor", import_module(f"{PACKAGE}.{name}").make(resources))
