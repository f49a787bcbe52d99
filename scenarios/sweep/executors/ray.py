"""Runs on a Ray cluster, which holds the recording once a node; each run is one task of one core.

Nodes need the same simtool and the same packages as the machine that asks.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import Any

from scenarios.recordings.loaded import Loaded
from scenarios.sweep.executors.base import Deaths, Done, Executor, Resources
from scenarios.sweep.work import Task, Worked, work
from traces.errors import SimtoolError

_AHEAD = 2
"""Runs handed to the cluster for each of its cores."""


def make(resources: Resources) -> Executor:
    """The cluster at the address, RAY_ADDRESS's, or one of this machine. Raises SimtoolError without Ray."""
    if find_spec("ray") is None:
        raise SimtoolError("--executor ray needs Ray: pip install 'simtool[ray]'")
    import ray

    ours = not ray.is_initialized()
    if ours:
        try:
            ray.init(address=resources.address, log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, RuntimeError, ValueError) as error:
            where = resources.address or "this machine"
            raise SimtoolError(f"--executor ray: no cluster at {where}: {error}") from error
    return _Ray(ray, resources.jobs, ours=ours)


class _Ray:
    def __init__(self, ray: Any, jobs: int | None, *, ours: bool) -> None:
        self._ray, self._jobs, self._ours = ray, jobs, ours
        self._shared: dict[str, Any] = {}
        self._running: dict[Any, Task] = {}
        self._remote = ray.remote(num_cpus=1, max_retries=0)(_work)

    def share(self, reading: str, loaded: Loaded) -> None:
        self._shared[reading] = self._ray.put(loaded)

    def run(self, tasks: Sequence[Task]) -> Iterator[Done]:
        waiting, deaths = deque(tasks), Deaths()
        while waiting or self._running:
            while waiting and len(self._running) < self._at_once():
                task = waiting.popleft()
                # in a list the reference travels as such, and the worker fetches it once for all its tasks
                self._running[self._remote.remote([self._shared[task.reading]], task)] = task
            ready, _ = self._ray.wait(list(self._running))
            for one in ready:
                task = self._running.pop(one)
                done = self._result(one, task, deaths)
                if done is None:
                    waiting.appendleft(task)
                else:
                    yield done

    def close(self) -> None:
        for one in self._running:
            self._ray.cancel(one, force=True)
        self._running.clear()
        self._shared.clear()
        if self._ours:
            self._ray.shutdown()

    def _at_once(self) -> int:
        return self._jobs or _AHEAD * max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def _result(self, one: Any, task: Task, deaths: Deaths) -> Done | None:
        try:
            return Done(task, self._ray.get(one))
        except self._ray.exceptions.RayError as error:
            return deaths.last(task, _how(error))


def _how(error: Exception) -> str:
    """An error of Ray in a line: its kind, and the last line of what it says."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[-1].strip()}" if lines else type(error).__name__


_known: dict[str, Loaded] = {}


def _work(shared: list[Any], task: Task) -> Worked:
    """In a worker of the cluster: *shared* holds the reference to what was loaded."""
    import ray

    if task.reading not in _known:
        _known.clear()
        _known[task.reading] = ray.get(shared[0])
    return work(_known[task.reading], task)
