"""Which points no other point beats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from scenarios.sweep.objectives import Objective


def front(figures: Sequence[Mapping[str, float | None] | None], objectives: Sequence[Objective]) -> list[int]:
    """Numbers of the points that none is better than in one objective and as good in all, by the first objective.

    Points that lack a figure are left out; of points alike in all objectives each is on the front.
    """
    rows = [
        (at, [one.sign * value for one in objectives if (value := found.get(one.key)) is not None])
        for at, found in enumerate(figures)
        if found is not None
    ]
    known = [(at, row) for at, row in rows if len(row) == len(objectives)]
    if not known:
        return []
    values = np.array([row for _, row in known])
    kept = [k for k, row in enumerate(values) if not _beaten(row, values)]
    return [known[k][0] for k in sorted(kept, key=lambda k: (*values[k], known[k][0]))]


def best(figures: Sequence[Mapping[str, float | None] | None], objective: Objective) -> int | None:
    """Number of the point with the best figure, the first of several; None if none has it."""
    known = [
        (objective.sign * value, at)
        for at, found in enumerate(figures)
        if found is not None and (value := found.get(objective.key)) is not None
    ]
    return min(known)[1] if known else None


def _beaten(
    row: np.ndarray[tuple[int], np.dtype[np.float64]], values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]
) -> bool:
    return bool(np.any((values <= row).all(axis=1) & (values < row).any(axis=1)))
