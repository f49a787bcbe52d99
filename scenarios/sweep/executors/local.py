"""Runs in processes of this machine, which map one file of the recording each instead of copying it.

Each process has a pipe of its own, so that the run on which it dies is known.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from scenarios.recordings.loaded import Loaded
from scenarios.sweep.executors.base import Deaths, Done, Executor, Resources
from scenarios.sweep.sharedfile import open_loaded, save_loaded
from scenarios.sweep.work import Task, work

_SUFFIX = ".loaded"
_READINGS_KEPT = 2
"""Recordings that a process keeps mapped."""


def make(resources: Resources) -> Executor:
    """Processes of this machine, one a core unless told otherwise."""
    return _Local(resources.jobs or len(os.sched_getaffinity(0)), resources.folder)


class _Worker:
    """A process, and the task it works on."""

    def __init__(self, folder: Path) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([__name__])
        self.pipe, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(target=_serve, args=(theirs, folder), daemon=True)
        self.process.start()
        theirs.close()
        self.task: Task | None = None

    def give(self, task: Task) -> None:
        self.task = task
        self.pipe.send(task)

    def stop(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


class _Local:
    def __init__(self, jobs: int, folder: Path) -> None:
        self._jobs, self._folder = jobs, folder
        self._workers: list[_Worker] = []

    def share(self, reading: str, loaded: Loaded) -> None:
        save_loaded(loaded, self._folder / (reading + _SUFFIX))

    def run(self, tasks: Sequence[Task]) -> Iterator[Done]:
        waiting, deaths = deque(tasks), Deaths()
        while len(self._workers) < min(self._jobs, len(waiting)):
            self._workers.append(_Worker(self._folder))
        left = len(waiting)
        while left:
            self._hand_out(waiting)
            for worker in self._ready():
                done = self._result(worker, deaths, waiting)
                if done is not None:
                    left -= 1
                    yield done

    def close(self) -> None:
        for worker in self._workers:
            worker.stop()
        self._workers.clear()

    def _hand_out(self, waiting: deque[Task]) -> None:
        for at, worker in enumerate(self._workers):
            if worker.task is not None or not waiting:
                continue
            try:
                worker.give(waiting[0])
            except OSError:
                worker.stop()
                self._workers[at] = _Worker(self._folder)
                self._workers[at].give(waiting[0])
            waiting.popleft()

    def _ready(self) -> list[_Worker]:
        """Workers whose task is done, or that died on it."""
        busy: dict[Any, _Worker] = {worker.pipe: worker for worker in self._workers if worker.task is not None}
        return [busy[pipe] for pipe in wait(list(busy))]

    def _result(self, worker: _Worker, deaths: Deaths, waiting: deque[Task]) -> Done | None:
        task = worker.task
        assert task is not None
        try:
            worked = worker.pipe.recv()
        except (EOFError, OSError):
            worker.process.join()
            how = _how(worker.process.exitcode)
            worker.stop()
            self._workers[self._workers.index(worker)] = _Worker(self._folder)
            done = deaths.last(task, how)
            if done is None:
                waiting.appendleft(task)
            return done
        worker.task = None
        return Done(task, worked)


def _how(exitcode: int | None) -> str:
    if exitcode is not None and exitcode < 0:
        return signal.Signals(-exitcode).name
    return f"exit code {exitcode}"


def _serve(pipe: Connection[Any, Any], folder: Path) -> None:
    """Work on what comes through *pipe* until it is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    known: dict[str, Loaded] = {}
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        if task.reading not in known:
            while len(known) >= _READINGS_KEPT:
                known.pop(next(iter(known)))
            known[task.reading] = open_loaded(folder / (task.reading + _SUFFIX))
        try:
            pipe.send(work(known[task.reading], task))
        except BrokenPipeError:
            return
