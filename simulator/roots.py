"""Brent's method for the zero of a function (Brent 1973, chapter 4), which scipy.optimize has too.

Importing that package takes longer than replaying thousands of requests, and this is all that would be used of it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

LEAST_RTOL = 4 * sys.float_info.epsilon
MAX_STEPS = 100


def find_root(
    function: Callable[[float], float], low: float, high: float, *, xtol: float = 2e-12, rtol: float = LEAST_RTOL
) -> float:
    """Where *function* is zero between *low* and *high*, within *xtol* + *rtol* times the value.

    Raises ValueError unless it has opposite signs at the two ends, RuntimeError if it is not found in MAX_STEPS.
    """
    before, here = low, high
    f_before, f_here = float(function(before)), float(function(here))
    if f_before == 0:
        return before
    if f_here == 0:
        return here
    if (f_before < 0) == (f_here < 0):
        raise ValueError(f"the function has one sign at {low:g} and {high:g}: {f_before:g} and {f_here:g}")
    across, f_across = before, f_before
    last_step = step = here - before
    for _ in range(MAX_STEPS):
        if (f_before < 0) != (f_here < 0):
            across, f_across = before, f_before
            last_step = step = here - before
        if abs(f_across) < abs(f_here):
            before, here, across = here, across, here
            f_before, f_here, f_across = f_here, f_across, f_here
        tolerance = (xtol + rtol * abs(here)) / 2
        middle = (across - here) / 2
        if f_here == 0 or abs(middle) < tolerance:
            return here
        trial = middle
        if abs(last_step) > tolerance and abs(f_here) < abs(f_before):
            trial = _interpolated((before, f_before), (here, f_here), (across, f_across))
        if 2 * abs(trial) < min(abs(last_step), 3 * abs(middle) - tolerance) and trial != middle:
            last_step, step = step, trial
        else:
            last_step = step = middle
        before, f_before = here, f_here
        here += step if abs(step) > tolerance else (tolerance if middle > 0 else -tolerance)
        f_here = float(function(here))
    raise RuntimeError(f"no root within {MAX_STEPS} steps between {low:g} and {high:g}")


Point = tuple[float, float]


def _interpolated(before: Point, here: Point, across: Point) -> float:
    """The step to the zero of a line or of an inverse parabola through points (x, y)."""
    if before[0] == across[0]:
        return -here[1] * (here[0] - before[0]) / (here[1] - before[1])
    slope_before = (before[1] - here[1]) / (before[0] - here[0])
    slope_across = (across[1] - here[1]) / (across[0] - here[0])
    rise = across[1] * slope_across - before[1] * slope_before
    return -here[1] * rise / (slope_across * slope_before * (across[1] - before[1]))
