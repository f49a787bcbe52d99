"""Sums over columns too long to compute with at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from simulator.longcolumns import PART, let_go_all

_UNROLLED = 8


def long_sum(size: int, piece: Callable[[int, int], npt.NDArray[np.float64]]) -> float:
    """Sum of *size* numbers, of which *piece* gives those from one place to another.

    To the last bit that of numpy on all of them at once: it halves what it adds up, at multiples of eight.
    """
    return _halved(0, size, piece)


def _halved(first: int, last: int, piece: Callable[[int, int], npt.NDArray[np.float64]]) -> float:
    if last - first <= PART:
        total = float(np.sum(piece(first, last)))
        let_go_all()
        return total
    half = (last - first) // 2
    middle = first + half - half % _UNROLLED
    return _halved(first, middle, piece) + _halved(middle, last, piece)
