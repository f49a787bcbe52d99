"""The document of a sweep: what summary.json and --json hold."""

from __future__ import annotations

from typing import Any

import msgspec

from scenarios.sweep.definition import Definition
from scenarios.sweep.paired import Difference

SCHEMA_VERSION = 2


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """A figure, mean over seeds, with the 95 % interval of that mean by Student's t; None with a single seed."""

    value: float
    low: float | None
    high: float | None


class PointRow(msgspec.Struct, frozen=True, kw_only=True):
    """One point over all its seeds."""

    point: int
    name: str
    values: dict[str, Any]
    """By axis."""
    seeds: list[int]
    """Those that are finished."""
    figures: dict[str, Estimate]
    """Empty if a seed failed."""
    reference: int | None
    """The point that it is compared with; None: there is none, or it is that point itself."""
    differences: dict[str, Difference]
    """Figure less the reference's, paired; the 95 % interval is over sessions."""
    pareto: bool
    best: bool
    error: str | None


class ObjectiveRow(msgspec.Struct, frozen=True, kw_only=True):
    """A figure that the sweep looks at."""

    key: str
    label: str
    unit: str
    higher_is_better: bool


class TornadoBar(msgspec.Struct, frozen=True, kw_only=True):
    """How far the first objective goes when one axis alone goes from end to end, all others at the reference."""

    axis: str
    low_value: str
    high_value: str
    low: float
    """The objective at low_value."""
    high: float
    at_reference: float
    least: float
    """Over all values of the axis, the reference's among them."""
    most: float

    @property
    def swing(self) -> float:
        """How far the objective goes in all."""
        return self.most - self.least


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """Runs: points times seeds."""

    total: int
    finished: int
    failed: int
    """Of the finished."""


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """All that a sweep says; nothing in it depends on the clock, the machine, the workers or a path."""

    schema_version: int
    tool: str
    version: str
    modelled_engine: str
    complete: bool
    """False: interrupted; results are of the finished runs only."""
    definition: Definition
    runs: Progress
    objectives: list[ObjectiveRow]
    points: list[PointRow]
    pareto: list[int]
    """Points that no other beats in all objectives, by the first of them; none of a tornado."""
    best: int | None
    """The best in the first objective; None of a tornado, whose points are no choices."""
    tornado: list[TornadoBar]
    """Longest first."""
    notes: list[str]
    warnings: list[str]


def schema() -> dict[str, Any]:
    """JSON Schema of the document."""
    return msgspec.json.schema(Summary)
