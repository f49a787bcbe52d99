"""From finished runs to what a sweep says: points over seeds, differences, the front, the tornado, warnings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
import pyarrow as pa
from scipy.stats import t as student

from scenarios.sweep.definition import Definition
from scenarios.sweep.document import SCHEMA_VERSION, Estimate, ObjectiveRow, PointRow, Progress, Summary
from scenarios.sweep.objectives import Objective
from scenarios.sweep.paired import CONFIDENCE, Difference, comparable, differences
from scenarios.sweep.pareto import best, front
from scenarios.sweep.points import Figures, Method, Point
from scenarios.sweep.reference import Reference
from scenarios.sweep.results import RunRow, results_table
from scenarios.sweep.store import Store
from scenarios.sweep.tornado import bars
from scenarios.sweep.work import Kept

_LISTED = 5
_NUMBER = re.compile(r"[-+]?\d[\d,.]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """Points with the runs that are finished: key and result by seed."""

    points: Sequence[Point]
    seeds: Sequence[int]
    runs: Mapping[int, Mapping[int, tuple[str, Kept]]]
    """By number of the point, then by seed."""
    total: int
    """Runs there are to be."""
    notes: Sequence[str] = ()

    def kept(self, point: int) -> list[Kept] | None:
        """Results of *point* in the order of the seeds; None unless all are there and none failed."""
        runs = self.runs.get(point, {})
        found = [runs[seed][1] for seed in self.seeds if seed in runs]
        return found if len(found) == len(self.seeds) and all(one.failure is None for one in found) else None


def mean_figures(found: Sequence[Kept] | None) -> dict[str, float | None] | None:
    """Figures over seeds: the mean, None where a seed has none; None without results."""
    if found is None:
        return None
    names = dict.fromkeys(name for one in found for name in one.figures)
    return {name: _mean([one.figures.get(name) for one in found]) for name in names}


def summarize(
    finished: Finished,
    definition: Definition,
    objectives: Sequence[Objective],
    reference: Reference,
    store: Store,
    *,
    complete: bool,
) -> tuple[pa.Table, Summary]:
    """The table of runs and the document."""
    means: list[Figures | None] = [mean_figures(finished.kept(point.number)) for point in finished.points]
    chosen = definition.method is not Method.TORNADO  # its points are assumptions, not choices
    on_front = front(means, objectives) if chosen else []
    first = best(means, objectives[0]) if chosen else None
    paired = _Paired(finished, reference, store)
    rows: list[RunRow] = []
    points: list[PointRow] = []
    for at, point in enumerate(finished.points):
        of = reference.of(point)
        overall, by_seed = paired.differences(point, of)
        runs = finished.runs.get(point.number, {})
        marks = {"pareto": at in on_front, "best": at == first}
        rows += [
            RunRow(
                point=point,
                seed=seed,
                kept=runs[seed][1],
                reference=of,
                differences=by_seed.get(seed, {}),
                **marks,
            )
            for seed in finished.seeds
            if seed in runs
        ]
        if runs:
            points.append(_point_row(point, finished, of, overall, **marks))
    home = reference.home
    failed = sum(kept.failure is not None for runs in finished.runs.values() for _, kept in runs.values())
    summary = Summary(
        schema_version=SCHEMA_VERSION,
        tool="simtool",
        version=definition.version,
        modelled_engine=definition.modelled_engine,
        complete=complete,
        definition=definition,
        runs=Progress(total=finished.total, finished=len(rows), failed=failed),
        objectives=[
            ObjectiveRow(key=one.key, label=one.label, unit=one.unit, higher_is_better=one.higher_is_better)
            for one in objectives
        ],
        points=points,
        pareto=[finished.points[at].number for at in on_front],
        best=finished.points[first].number if first is not None else None,
        tornado=bars(finished.points, means, home, objectives[0]) if home is not None else [],
        notes=list(finished.notes),
        warnings=_warnings(finished, complete=complete),
    )
    axes = list(dict.fromkeys(key for point in finished.points for key in point.values))
    return results_table(rows, axes), summary


class _Paired:
    """Differences of points to their references, each reference's attempts read once."""

    def __init__(self, finished: Finished, reference: Reference, store: Store) -> None:
        self._finished, self._reference, self._store = finished, reference, store
        self._last: tuple[int, list[tuple[Kept, pa.Table]]] | None = None

    def differences(
        self, point: Point, of: int | None
    ) -> tuple[dict[str, Difference], dict[int, dict[str, Difference]]]:
        """Over all seeds, and by seed; empty where there is nothing to compare with."""
        mine, theirs = self._finished.kept(point.number), None if of is None else self._finished.kept(of)
        if of is None or mine is None or theirs is None or not comparable(mine, theirs):
            return {}, {}
        if self._last is None or self._last[0] != of:
            self._last = (of, self._runs(of))
        overall, each = differences(self._runs(point.number), self._last[1], seed=0)
        return overall, dict(zip(self._finished.seeds, each, strict=True))

    def _runs(self, point: int) -> list[tuple[Kept, pa.Table]]:
        runs = self._finished.runs[point]
        return [(kept, self._store.attempts(key)) for key, kept in (runs[seed] for seed in self._finished.seeds)]


def _point_row(
    point: Point, finished: Finished, of: int | None, overall: dict[str, Difference], *, pareto: bool, best: bool
) -> PointRow:
    found = finished.kept(point.number)
    runs = finished.runs.get(point.number, {})
    errors = [kept.error for _, kept in runs.values() if kept.error is not None]
    names = dict.fromkeys(name for one in found or () for name in one.figures)
    figures = {name: _estimate([one.figures.get(name) for one in found or ()]) for name in names}
    return PointRow(
        point=point.number,
        name=point.name,
        values=dict(point.values),
        seeds=[seed for seed in finished.seeds if seed in runs],
        figures={name: one for name, one in figures.items() if one is not None},
        reference=of,
        differences=overall,
        pareto=pareto,
        best=best,
        error=errors[0] if errors else None,
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known and len(known) == len(values) else None


def _estimate(values: Sequence[float | None]) -> Estimate | None:
    mean = _mean(values)
    if mean is None:
        return None
    if len(values) < 2:
        return Estimate(value=mean, low=None, high=None)
    spread = float(np.std(np.array(values, dtype=np.float64), ddof=1)) / sqrt(len(values))
    half = float(student.ppf((1 + CONFIDENCE) / 2, len(values) - 1)) * spread
    return Estimate(value=mean, low=mean - half, high=mean + half)


def _warnings(finished: Finished, *, complete: bool) -> list[str]:
    """What the points warn of and what the sweep itself has to say.

    A warning that several points give, with figures of their own, stands once: with those of the first.
    """
    said: dict[str, tuple[str, list[int]]] = {}
    for point in finished.points:
        for _, kept in finished.runs.get(point.number, {}).values():
            for text in kept.warnings:
                _, points = said.setdefault(_NUMBER.sub("#", text), (text, []))
                if point.number not in points:
                    points.append(point.number)
    found = [_of_points(text, points) for text, points in said.values()]
    if not complete:
        found.insert(0, "interrupted: only the finished runs are here; the same command goes on from them")
    return found


def _of_points(text: str, points: Sequence[int]) -> str:
    if len(points) == 1:
        return f"point {points[0]}: {text}"
    return f"points {_listed(points)}, with figures of the first: {text}"


def _listed(points: Sequence[int]) -> str:
    shown = ", ".join(str(point) for point in points[:_LISTED])
    return shown if len(points) <= _LISTED else f"{shown} and {len(points) - _LISTED} more"
