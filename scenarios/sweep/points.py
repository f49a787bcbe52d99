"""Points of a sweep: which combinations of the axes' values are asked about."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import product
from typing import Any, Protocol

import numpy as np

from scenarios.options.replay import OptionError
from scenarios.sweep.axes import Axis, shown
from simulator import rng

MAX_POINTS = 100_000


class Method(StrEnum):
    """How points are chosen."""

    GRID = "grid"
    """Every combination."""
    LIST = "list"
    """The first values of all axes, then the second ones, and so on."""
    RANDOM = "random"
    """Samples, each axis drawn by itself."""
    SEARCH = "search"
    """Samples that follow what earlier ones gave (optuna)."""
    TORNADO = "tornado"
    """The base, and each assumption alone at its low and its high end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One set of options to ask about."""

    number: int
    values: Mapping[str, Any]
    """What is shown, by axis."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Options by key in place of the base's; None: not given."""
    label: str | None = None
    """What it is called, where its values in full would say too much."""

    @property
    def name(self) -> str:
        """The point in a line."""
        return self.label or ", ".join(f"{key} {shown(value)}" for key, value in self.values.items()) or "base"


Figures = Mapping[str, float | None]


class Proposer(Protocol):
    """Says which points come next."""

    total: int
    """Points in all."""

    def ask(self) -> list[Point]:
        """The next points to answer; none at the end."""
        ...

    def tell(self, figures: Sequence[Figures | None]) -> None:
        """Take the figures of the points last asked for; None of those that failed."""
        ...


class Fixed:
    """Points that are known from the start."""

    def __init__(self, points: Sequence[Point]) -> None:
        self._points = list(points)
        self.total = len(self._points)

    def ask(self) -> list[Point]:
        """All points, once."""
        points, self._points = self._points, []
        return points

    def tell(self, figures: Sequence[Figures | None]) -> None:
        """Nothing depends on them."""


def numbered(values: Iterable[Mapping[str, Any]]) -> list[Point]:
    """Points of axis values, in their order."""
    return [Point(number=at, values=dict(one), settings=dict(one)) for at, one in enumerate(values)]


def grid_points(axes: Sequence[Axis]) -> list[Point]:
    """Every combination, the last axis fastest. Raises OptionError for a range without steps and for too many."""
    lists = [axis.listed() for axis in axes]
    count = math.prod(len(values) for values in lists)
    if count > MAX_POINTS:
        raise OptionError(f"{count:,} points are more than {MAX_POINTS:,}: give fewer values, or --method random")
    return numbered(dict(zip((axis.key for axis in axes), row, strict=True)) for row in product(*lists))


def list_points(axes: Sequence[Axis]) -> list[Point]:
    """The n-th values of all axes together. Raises OptionError unless all have as many."""
    lists = {axis.key: axis.listed() for axis in axes}
    if len({len(values) for values in lists.values()}) > 1:
        lengths = ", ".join(f"{key} has {len(values)}" for key, values in lists.items())
        raise OptionError(f"--method list takes the n-th values of all axes together, so each needs as many: {lengths}")
    return numbered(dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True))


def random_points(axes: Sequence[Axis], samples: int, seed: int) -> list[Point]:
    """*samples* distinct draws, fewer where the axes do not have as many."""
    draws = {axis.key: rng.generator(seed, "sweep", "random", axis.key) for axis in axes}
    found: list[dict[str, Any]] = []
    for _ in range(samples * 20):
        row = {axis.key: drawn(axis, draws[axis.key]) for axis in axes}
        if row not in found:
            found.append(row)
        if len(found) == samples:
            break
    return numbered(found)


def drawn(axis: Axis, draws: np.random.Generator) -> Any:
    """One value of *axis*: of its list, or of its range, evenly or evenly in the logarithm."""
    if axis.span is None:
        return axis.values[int(draws.integers(len(axis.values)))]
    low, high = axis.span.low, axis.span.high
    if axis.span.log:
        value = math.exp(draws.uniform(math.log(low), math.log(high)))
        return min(int(high), max(int(low), round(value))) if axis.span.whole else float(f"{value:.6g}")
    if axis.span.whole:
        return int(draws.integers(int(low), int(high), endpoint=True))
    return float(f"{draws.uniform(low, high):.6g}")
