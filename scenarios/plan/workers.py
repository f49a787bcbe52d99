"""Runs the parts of a plan one after the other, or in processes of this machine; the results are the same."""

from __future__ import annotations

import multiprocessing
import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from scenarios.acceptance.drafters import Measurer, measuring_once
from scenarios.plan.candidates import Candidate
from scenarios.plan.probe import Bench
from scenarios.plan.targets import Objectives
from scenarios.plan.traffic import Traffic
from scenarios.recordings.loaded import Loaded
from scenarios.sweep.sharedfile import open_loaded, save_loaded

R = TypeVar("R")

Task = tuple[Candidate, Any]
"""A candidate, and what to do with it: the argument of the work."""


@dataclass(slots=True)
class Shop:
    """A recording with what its plans share; each process has its own."""

    loaded: Loaded
    objectives: Objectives
    max_requests: int
    _traffic: Traffic | None = None
    _measurer: Measurer = field(default_factory=measuring_once)

    def bench(self, candidate: Candidate) -> Bench:
        """Where the replays of *candidate* are made; the traffic is the same for all candidates."""
        if self._traffic is None:
            options = candidate.question().options
            self._traffic = Traffic.of(self.loaded.workload, options, self.max_requests)
        return Bench(
            candidate=candidate,
            loaded=self.loaded,
            traffic=self._traffic,
            objectives=self.objectives,
            measurer=self._measurer,
        )


_shop: Shop | None = None


def _open(path: Path, objectives: Objectives, max_requests: int) -> None:
    global _shop
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the main process, which ends this one
    _shop = Shop(open_loaded(path), objectives, max_requests)


def _serve(work: Callable[[Bench, Any], R], task: Task) -> R:
    assert _shop is not None
    return work(_shop.bench(task[0]), task[1])


@contextmanager
def workers(
    shop: Shop, jobs: int, done: Callable[[int], None] | None
) -> Iterator[Callable[[Callable[[Bench, Any], Any], Sequence[Task]], list[Any]]]:
    """Give a map of tasks, *jobs* at a time; *done* is told how many are finished."""
    finished = 0

    def collected(results: Iterator[Any]) -> list[Any]:
        nonlocal finished
        found = []
        for result in results:
            found.append(result)
            finished += 1
            if done is not None:
                done(finished)
        return found

    if jobs == 1:
        yield lambda work, tasks: collected(work(shop.bench(one), argument) for one, argument in tasks)
        return
    with tempfile.TemporaryDirectory(prefix="simtool-plan-") as folder:
        path = Path(folder) / "recording"
        save_loaded(shop.loaded, path)
        context = multiprocessing.get_context("forkserver")
        before = set(multiprocessing.active_children())
        pool = ProcessPoolExecutor(
            jobs, mp_context=context, initializer=_open, initargs=(path, shop.objectives, shop.max_requests)
        )
        try:
            yield lambda work, tasks: collected(_in_order([pool.submit(_serve, work, one) for one in tasks]))
        except BaseException:
            # What waits is not cancelled: the pool tells it that a process died, which for cancelled work is an error.
            for child in set(multiprocessing.active_children()) - before:
                child.kill()
            raise
        finally:
            pool.shutdown()


def _in_order(futures: list[Future[R]]) -> Iterator[R]:
    for future in futures:
        yield future.result()
