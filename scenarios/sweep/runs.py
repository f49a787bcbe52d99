"""The runs of a sweep: points times seeds, what is to be done for each, and what it became."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from scenarios.ask import question
from scenarios.options.read import ReadOptions
from scenarios.options.replay import OptionError
from scenarios.options.settings import settings
from scenarios.recordings.loaded import Reading, load
from scenarios.recordings.recording import open_recording
from scenarios.sweep.code import code_digest
from scenarios.sweep.definition import file_digests
from scenarios.sweep.executors.base import Done, Executor
from scenarios.sweep.points import Point
from scenarios.sweep.store import Store, run_key
from scenarios.sweep.summarize import Finished
from scenarios.sweep.work import Failure, Kept, Task, failed
from traces.errors import SimtoolError

Tell = Callable[[int, int], None]
"""Takes how many runs are finished, and how many there are to be."""


@dataclass(slots=True)
class _Plan:
    """What is still to be done."""

    tasks: dict[str, Task] = field(default_factory=dict)
    """By key."""
    wanted_by: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """Points and seeds that a task is for: several, where a method proposes the same twice."""
    readings: dict[str, Reading] = field(default_factory=dict)


@dataclass(slots=True)
class Runs:
    """Does points under all seeds, and remembers what became of them."""

    traces: Sequence[str]
    base: Mapping[str, Any]
    seeds: Sequence[int]
    points: list[Point] = field(default_factory=list)
    done: dict[int, dict[int, tuple[str, Kept]]] = field(default_factory=dict)
    """Key and result by number of the point, then by seed."""
    _digests: dict[ReadOptions, str] = field(default_factory=dict)
    _files: dict[str, str | None] = field(default_factory=dict)
    _shared: set[str] = field(default_factory=set)

    def sha256(self, read: ReadOptions) -> str:
        """Digest of the recordings as *read* finds them."""
        if read not in self._digests:
            self._digests[read] = open_recording(self.traces, read).sha256
        return self._digests[read]

    def finished(self, total: int, notes: Sequence[str] = ()) -> Finished:
        """What there is so far; *total* points are to be."""
        return Finished(
            points=self.points, seeds=self.seeds, runs=self.done, total=total * len(self.seeds), notes=notes
        )

    def do(
        self, points: Sequence[Point], executor: Callable[[], Executor], store: Store, tell: Tell | None, total: int
    ) -> None:
        """Finish *points*, of *total* there are to be; those that *store* keeps already are taken over.

        *executor* gives the executor, and is called only if there is something to do.
        """
        self.points += points
        plan = _Plan()
        for point in points:
            for seed in self.seeds:
                self._plan(point, seed, store, plan)
        self._count(tell, total)
        for one in self._results(plan, executor):
            kept = store.keep(one.task.key, one.worked)
            for number, seed in plan.wanted_by[one.task.key]:
                self._take(number, seed, one.task.key, kept)
            self._count(tell, total)

    def _plan(self, point: Point, seed: int, store: Store, plan: _Plan) -> None:
        """Take the run over if it is kept, keep its failure if it cannot be asked, else add it to the *plan*."""
        merged = {**self.base, "seed": seed, **point.settings}
        values = {key: value for key, value in merged.items() if value is not None}
        files = file_digests([values], self._files)
        try:
            chosen = settings(values)
            digest = self.sha256(chosen.read)
            key = run_key(values, files, digest, code_digest())
            kept = store.kept(key)
            reading = question(chosen.read, chosen.replay).reading if kept is None else None
        except (OptionError, SimtoolError) as error:
            key = run_key(values, files, "", code_digest())
            kept = store.keep(key, failed(Failure.OPTIONS, str(error)))
            reading = None
        if reading is None:
            assert kept is not None
            self._take(point.number, seed, key, kept)
            return
        name = hashlib.sha256(repr((digest, astuple(reading))).encode()).hexdigest()[:16]
        plan.readings[name] = reading
        plan.tasks[key] = Task(key=key, values=_placed(values, files), reading=name)
        plan.wanted_by.setdefault(key, []).append((point.number, seed))

    def _results(self, plan: _Plan, executor: Callable[[], Executor]) -> Iterator[Done]:
        """Do the tasks, those of one reading after the other; a recording that cannot be read fails its own."""
        order = list(plan.readings)
        tasks = sorted(plan.tasks.values(), key=lambda task: order.index(task.reading))
        unread: dict[str, str] = {}
        for name in order:
            try:
                self._share(name, plan.readings[name], executor)
            except SimtoolError as error:
                unread[name] = str(error)
        able = [task for task in tasks if task.reading not in unread]
        useless = [Done(one, failed(Failure.OPTIONS, unread[one.reading])) for one in tasks if one.reading in unread]
        return chain(useless, executor().run(able) if able else ())

    def _share(self, name: str, reading: Reading, executor: Callable[[], Executor]) -> None:
        """Read and tag the recordings once for all runs that need this reading of them."""
        if name not in self._shared:
            executor().share(name, load(self.traces, reading))
            self._shared.add(name)

    def _take(self, number: int, seed: int, key: str, kept: Kept) -> None:
        self.done.setdefault(number, {})[seed] = (key, kept)

    def _count(self, tell: Tell | None, total: int) -> None:
        if tell is not None:
            tell(sum(map(len, self.done.values())), total * len(self.seeds))


def _placed(values: Mapping[str, Any], files: Mapping[str, str]) -> dict[str, Any]:
    """*values* with the files they name by absolute path: workers may stand in another folder."""
    return {
        key: str(Path(value).absolute()) if isinstance(value, str) and value in files else value
        for key, value in values.items()
    }
