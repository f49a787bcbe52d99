"""Runs a sweep: proposes points, does what is not finished yet, keeps each run as it ends, and sums up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scenarios.acceptance.profilefile import write_profile
from scenarios.options.replay import OptionError
from scenarios.options.settings import settings
from scenarios.resolve.measure import resolve_measure
from scenarios.sweep.definition import DEFAULT_SAMPLES, Request, base_values, check, define
from scenarios.sweep.document import Summary
from scenarios.sweep.executors.base import Executor, Resources, check_executor, make_executor
from scenarios.sweep.objectives import DEFAULT_OBJECTIVES, Objective, objectives
from scenarios.sweep.points import Fixed, Method, Proposer, grid_points, list_points, random_points
from scenarios.sweep.reference import Reference, with_reference
from scenarios.sweep.runs import Runs, Tell
from scenarios.sweep.search import Search
from scenarios.sweep.store import ASSUMPTIONS, Store
from scenarios.sweep.summarize import mean_figures, summarize
from scenarios.sweep.tornado import assumptions
from simulator.profile import AcceptanceProfile
from traces.errors import SimtoolError

STDIN = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Where a sweep is kept and done."""

    folder: Path
    force: bool = False
    executor: str = "local"
    jobs: int | None = None
    """None: as many as there are cores."""
    address: str | None = None


def sweep(
    traces: Sequence[str], given: Mapping[str, Any], request: Request, where: Where, tell: Tell | None = None
) -> Summary:
    """Do what *request* asks over the options *given* on the recordings *traces*, and write the results.

    Finished runs of the same sweep in the folder are taken over. An interruption (KeyboardInterrupt) ends it early: the
    results are then those of the finished runs, and the summary says that it is not complete. Raises OptionError for
    what contradicts itself and for a folder that holds something else, TraceError or SimtoolError for recordings that
    cannot be used and where no point could be answered.
    """
    if STDIN in traces:
        raise OptionError("a sweep reads its recording more than once: give a file in place of -")
    check(request)
    base = base_values(given)
    chosen = settings(base)
    aims = objectives(request.objectives or DEFAULT_OBJECTIVES, resolve_measure(chosen.replay.measure))
    runs = Runs(traces, base, request.seeds or (chosen.replay.seed,))
    definition = define(request, base, runs.sha256(chosen.read), [one.key for one in aims])
    plan = _plan(request, base, aims, where.folder)
    check_executor(where.executor)
    store = Store(where.folder)
    store.open(definition, force=where.force)
    try:
        for path, profile in plan.profiles.items():
            path.parent.mkdir(exist_ok=True)
            write_profile(profile, path)
        complete = _answered(plan.proposer, runs, store, where, tell)
        reference = Reference(runs.points, request.reference, base)
        finished = runs.finished(plan.proposer.total, plan.notes)
        table, summary = summarize(finished, definition, aims, reference, store, complete=complete)
        store.write_results(table, summary)
    finally:
        store.close()
    errors = [row.error for row in summary.points if row.error is not None]
    if complete and len(errors) == len(summary.points):
        raise SimtoolError(f"no point could be answered; the first: {errors[0]}")
    return summary


def _answered(proposer: Proposer, runs: Runs, store: Store, where: Where, tell: Tell | None) -> bool:
    """Do all points; False if an interruption ended that."""
    with _executor(where, store) as executor:
        try:
            while points := proposer.ask():
                runs.do(points, executor, store, tell, proposer.total)
                found = runs.finished(proposer.total)
                proposer.tell([mean_figures(found.kept(point.number)) for point in points])
        except KeyboardInterrupt:
            return False
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    proposer: Proposer
    notes: Sequence[str] = ()
    profiles: Mapping[Path, AcceptanceProfile] = field(default_factory=dict)


def _plan(request: Request, base: Mapping[str, Any], aims: tuple[Objective, ...], folder: Path) -> _Plan:
    """What proposes the points of *request*. Raises OptionError, SimtoolError without optuna."""
    samples = request.samples or DEFAULT_SAMPLES
    seed = int(base.get("seed", 0))
    if request.method is Method.SEARCH:
        return _Plan(proposer=Search(request.axes, aims, samples, seed, request.reference))
    if request.method is Method.TORNADO:
        found = assumptions(request.axes, base, folder / ASSUMPTIONS)
        return _Plan(proposer=Fixed(found.points), notes=found.notes, profiles=found.profiles)
    if request.method is Method.GRID:
        points = grid_points(request.axes)
    elif request.method is Method.LIST:
        points = list_points(request.axes)
    else:
        points = random_points(request.axes, samples, seed)
    return _Plan(proposer=Fixed(with_reference(points, request.reference)))


@contextmanager
def _executor(where: Where, store: Store) -> Iterator[Callable[[], Executor]]:
    """Give what starts the executor when it is first needed; it is stopped in any case."""
    started: list[Executor] = []

    def start() -> Executor:
        if not started:
            resources = Resources(jobs=where.jobs, address=where.address, folder=store.work_folder())
            started.append(make_executor(where.executor, resources))
        return started[0]

    try:
        yield start
    finally:
        for one in started:
            one.close()
