"""The points of a sweep beside a run: its folder's table, a row a point, figures as means over seeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from scenarios.options.depths import parse_gamma
from scenarios.options.settings import GAMMA
from scenarios.sweep.axes import shown
from scenarios.sweep.definition import Definition
from scenarios.sweep.store import DEFINITION, RESULTS
from traces.errors import SimtoolError, TraceError

_MAKE = "make one with: simtool sweep TRACE --axis KEY=VALUES -o DIR"


@dataclass(frozen=True, slots=True, kw_only=True)
class SweptPoint:
    """One point that has figures under every seed."""

    name: str
    """Its values by axis, as text."""
    gamma: int
    """The deepest draft."""
    figures: Mapping[str, float]
    """Those that all seeds have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweptPoints:
    """A sweep as a report needs it."""

    name: str
    trace_sha256: str
    points: tuple[SweptPoint, ...]


def read_sweep(folder: Path) -> SweptPoints:
    """The finished points of the sweep in *folder*. Raises SimtoolError if it holds none, TraceError for bad files."""
    for name in (DEFINITION, RESULTS):
        if not (folder / name).is_file():
            raise SimtoolError(f"{folder}: no finished sweep, as it holds no {name} ({_MAKE})")
    try:
        definition = msgspec.json.decode((folder / DEFINITION).read_bytes(), type=Definition)
        table = pq.read_table(folder / RESULTS)
    except (OSError, msgspec.DecodeError, pa.ArrowException) as error:
        raise TraceError(str(folder), None, f"not as this simtool writes it: {error}", "sweep again") from error
    by_point: dict[int, list[dict[str, Any]]] = {}
    for row in table.to_pylist():
        by_point.setdefault(row["point"], []).append(row)
    answered = [rows for rows in by_point.values() if all(row["failure"] is None for row in rows)]
    points = tuple(_point(rows, definition) for rows in answered)
    if not points:
        raise SimtoolError(f"{folder}: no point of the sweep has an answer")
    return SweptPoints(name=folder.resolve().name, trace_sha256=definition.trace_sha256, points=points)


def _point(rows: list[dict[str, Any]], definition: Definition) -> SweptPoint:
    first = rows[0]
    axes = [axis for axis in definition.axes if axis in first]
    depth = first[GAMMA.key] if GAMMA.key in axes else definition.base.get(GAMMA.key)
    figures = {
        name: float(np.mean([row[name] for row in rows]))
        for name, value in first.items()
        if isinstance(value, float) and name not in axes and all(row[name] is not None for row in rows)
    }
    return SweptPoint(
        name=", ".join(f"{axis} {shown(first[axis])}" for axis in axes) or f"point {first['point']}",
        gamma=parse_gamma(str(GAMMA.default if depth is None else depth)).deepest,
        figures=figures,
    )
