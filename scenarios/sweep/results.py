"""All runs of a sweep as one table, a run a row, for Parquet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from scenarios.sweep.axes import is_number, shown
from scenarios.sweep.paired import Difference
from scenarios.sweep.points import Point
from scenarios.sweep.work import Kept

TABLE_VERSION = "1"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """A finished run with what the table says of it."""

    point: Point
    seed: int
    kept: Kept
    reference: int | None = None
    """Number of the point that it is compared with."""
    differences: Mapping[str, Difference] = field(default_factory=dict)
    """Under this seed alone."""
    pareto: bool = False
    best: bool = False


def results_table(rows: Sequence[RunRow], axes: Sequence[str]) -> pa.Table:
    """*rows* in their order: point, seed, axes, failure, figures, and differences with their intervals.

    A figure's difference is ``diff_FIGURE`` with ``diff_FIGURE_low`` and ``_high``; null where there is none.
    """
    columns: dict[str, pa.Array] = {
        "point": pa.array([row.point.number for row in rows], pa.int64()),
        "seed": pa.array([row.seed for row in rows], pa.int64()),
    }
    for axis in axes:
        columns[axis] = _axis_column([row.point.values.get(axis) for row in rows])
    columns["failure"] = pa.array([row.kept.failure for row in rows], pa.string())
    columns["error"] = pa.array([row.kept.error for row in rows], pa.string())
    columns["reference"] = pa.array([row.reference for row in rows], pa.int64())
    columns["pareto"] = pa.array([row.pareto for row in rows], pa.bool_())
    columns["best"] = pa.array([row.best for row in rows], pa.bool_())
    for name in dict.fromkeys(name for row in rows for name in row.kept.figures):
        columns[name] = pa.array([row.kept.figures.get(name) for row in rows], pa.float64())
    for name in dict.fromkeys(name for row in rows for name in row.differences):
        found = [row.differences.get(name) for row in rows]
        for end in ("value", "low", "high"):
            key = f"diff_{name}" if end == "value" else f"diff_{name}_{end}"
            columns[key] = pa.array([None if one is None else getattr(one, end) for one in found], pa.float64())
    return pa.table(columns).replace_schema_metadata({"simtool_sweep_table": TABLE_VERSION})


def _axis_column(values: Sequence[Any]) -> pa.Array:
    """Numbers or switches where all are, else text; null where the option is at its default."""
    given = [value for value in values if value is not None]
    if given and all(isinstance(value, bool) for value in given):
        return pa.array(values, pa.bool_())
    if given and all(is_number(value) for value in given):
        whole = all(isinstance(value, int) for value in given)
        return pa.array(values, pa.int64() if whole else pa.float64())
    return pa.array([None if value is None else shown(value) for value in values], pa.string())
