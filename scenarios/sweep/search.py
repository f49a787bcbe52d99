"""Points that follow what earlier ones gave: optuna's tree-structured Parzen estimator, for one or more objectives.

Trials are asked for in batches of a fixed size and told in their order, so that a seed gives the same points with any
number of workers and after any interruption.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from scenarios.sweep.axes import Axis, is_number
from scenarios.sweep.objectives import Objective
from scenarios.sweep.points import Figures, Point
from traces.errors import SimtoolError

if TYPE_CHECKING:
    import optuna

BATCH = 8
"""Trials asked for before any of them is told."""


class Search:
    """Proposes *samples* points within *axes* to make *objectives* better, after the point *first*, if one is given.

    Raises SimtoolError without optuna.
    """

    def __init__(
        self,
        axes: Sequence[Axis],
        objectives: Sequence[Objective],
        samples: int,
        seed: int,
        first: Mapping[str, Any] | None = None,
    ) -> None:
        if find_spec("optuna") is None:
            raise SimtoolError("--method search needs optuna: pip install 'simtool[search]'")
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._axes, self._objectives = axes, objectives
        self._study = optuna.create_study(
            directions=["maximize" if one.higher_is_better else "minimize" for one in objectives],
            sampler=optuna.samplers.TPESampler(seed=seed),
        )
        self._trials: list[optuna.trial.Trial] = []
        self._known: list[list[float]] = []
        self._asked = 0
        self._first = {axis.key: first[axis.key] for axis in axes} if first else None
        self.total = samples + (self._first is not None)

    def ask(self) -> list[Point]:
        """The next batch."""
        self._trials = []
        if self._first is not None and not self._asked:
            self._asked = 1
            return [Point(number=0, values=self._first, settings=self._first)]
        count = min(BATCH, self.total - self._asked)
        points = []
        for _ in range(count):
            trial = self._study.ask()
            values = {axis.key: _suggested(trial, axis) for axis in self._axes}
            points.append(Point(number=self._asked, values=values, settings=dict(values)))
            self._trials.append(trial)
            self._asked += 1
        return points

    def tell(self, figures: Sequence[Figures | None]) -> None:
        """Take the figures of the batch; points that failed, or lack an objective, count as the worst there was."""
        import optuna

        found = [_values(one, self._objectives) for one in figures[: len(self._trials)]]
        self._known += [values for values in found if values is not None]
        signs = [one.sign for one in self._objectives]
        columns = zip(*self._known, strict=True)
        worst = [sign * max(sign * value for value in column) for sign, column in zip(signs, columns, strict=False)]
        for trial, values in zip(self._trials, found, strict=True):
            told = values or worst
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
                self._study.tell(trial, told or None, None if told else optuna.trial.TrialState.FAIL)


def _values(figures: Figures | None, objectives: Sequence[Objective]) -> list[float] | None:
    """The objectives of a point; None unless it has them all."""
    if figures is None:
        return None
    values = [figures.get(one.key) for one in objectives]
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) else None


def _suggested(trial: optuna.trial.Trial, axis: Axis) -> Any:
    span = axis.span
    if span is None:
        if all(is_number(value) for value in axis.values):
            ordered = sorted(axis.values)
            return ordered[trial.suggest_int(axis.key, 0, len(ordered) - 1)]
        return axis.values[trial.suggest_categorical(axis.key, list(range(len(axis.values))))]
    if span.whole:
        return trial.suggest_int(axis.key, int(span.low), int(span.high), log=span.log)
    return float(f"{trial.suggest_float(axis.key, span.low, span.high, log=span.log):.6g}")
