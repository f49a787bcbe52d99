"""Linear interpolation on a grid of measured points, for scalars and for arrays."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from simulator.cost.model import Number

F64 = npt.NDArray[np.float64]
Axis = tuple[float, ...]
Rows = list[list[float]]


def check_axis(name: str, axis: Axis) -> None:
    """Raise ValueError unless *axis* has two rising points."""
    if len(axis) < 2 or any(b <= a for a, b in pairwise(axis)):
        raise ValueError(f"{name}: {list(axis)} must have two points or more, each above the one before")


def check_times(name: str, times: F64, shape: tuple[int, ...]) -> None:
    """Raise ValueError unless *times* has *shape*, is positive and falls along no axis."""
    if times.shape != shape:
        raise ValueError(f"{name}: shape {times.shape} does not fit the axes, which give {shape}")
    if not np.isfinite(times).all() or (times <= 0).any():
        raise ValueError(f"{name}: every time must be a number above 0")
    for axis in range(times.ndim):
        if (np.diff(times, axis=axis) < 0).any():
            raise ValueError(f"{name}: a time falls along axis {axis}: measure again with more repeats")


def cell(axis: Axis, x: float) -> tuple[int, float]:
    """Index of the cell that *x* is in and where in it: beyond 1 past the last point, 0 before the first."""
    low = bisect_right(axis, x) - 1
    if low < 0:
        return 0, 0.0
    if low > len(axis) - 2:
        low = len(axis) - 2
    return low, (x - axis[low]) / (axis[low + 1] - axis[low])


def between(table: F64, axis: Axis, x: float) -> F64:
    """*table* at *x* of its first axis."""
    low, share = cell(axis, x)
    result: F64 = table[low] + (table[low + 1] - table[low]) * share
    return result


class Curve:
    """Seconds along one axis."""

    def __init__(self, axis: Axis, times: F64) -> None:
        self._axis, self._times, self._values = axis, times, times.tolist()

    def at(self, x: Number) -> Number:
        """Seconds at *x*."""
        if isinstance(x, np.ndarray):
            low, share = _cells(self._axis, x)
            result: F64 = self._times[low] + (self._times[low + 1] - self._times[low]) * share
            return result
        index, part = cell(self._axis, x)
        below: float = self._values[index]
        above: float = self._values[index + 1]
        return below + (above - below) * part


class Surface:
    """Seconds along two axes."""

    def __init__(self, rows: Axis, columns: Axis, times: F64) -> None:
        self._rows, self._columns, self._times = rows, columns, times
        self._values: Rows = times.tolist()

    def at(self, y: Number, x: Number) -> Number:
        """Seconds at row *y* and column *x*."""
        if isinstance(x, np.ndarray) or isinstance(y, np.ndarray):
            return self._many(y, x)
        row, down = cell(self._rows, y)
        column, right = cell(self._columns, x)
        upper, lower = self._values[row], self._values[row + 1]
        above = upper[column] + (upper[column + 1] - upper[column]) * right
        below = lower[column] + (lower[column + 1] - lower[column]) * right
        return above + (below - above) * down

    def _many(self, y: Number, x: Number) -> F64:
        wide_y, wide_x = np.broadcast_arrays(np.asarray(y, dtype=np.float64), np.asarray(x, dtype=np.float64))
        i, down = _cells(self._rows, wide_y)
        j, right = _cells(self._columns, wide_x)
        table = self._times
        above = table[i, j] + (table[i, j + 1] - table[i, j]) * right
        below = table[i + 1, j] + (table[i + 1, j + 1] - table[i + 1, j]) * right
        result: F64 = above + (below - above) * down
        return result


def _cells(axis: Axis, x: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.int64], F64]:
    at = np.array(axis)
    low = np.clip(np.searchsorted(at, x, side="right") - 1, 0, len(axis) - 2)
    return low, np.maximum(0.0, (x - at[low]) / (at[low + 1] - at[low]))
