"""Zeros that take memory page by page, when they are first written to, and give it back when they are dropped."""

from __future__ import annotations

import mmap
import sys
from typing import Any

import numpy as np
import numpy.typing as npt


def lazy_zeros(count: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """*count* zeros of their own. numpy.zeros does the same only where the C library maps memory afresh."""
    size = count * np.dtype(dtype).itemsize
    return np.frombuffer(mmap.mmap(-1, max(1, size), access=mmap.ACCESS_COPY), dtype=np.uint8)[:size].view(dtype)


def clear(zeros: npt.NDArray[Any], first: int, end: int) -> None:
    """Set the entries *first* to *end* of what `lazy_zeros` made to 0 again, and give back their memory, on Linux.

    Entries on a page that is not theirs alone are written to.
    """
    size = zeros.dtype.itemsize
    low, high = -(-first * size // mmap.PAGESIZE) * mmap.PAGESIZE, end * size // mmap.PAGESIZE * mmap.PAGESIZE
    pages = backing(zeros)
    if sys.platform != "linux" or low >= high or not isinstance(pages, mmap.mmap):
        zeros[first:end] = 0
        return
    zeros[first : -(-low // size)] = 0
    zeros[high // size : end] = 0
    pages.madvise(mmap.MADV_DONTNEED, low, high - low)


def backing(array: npt.NDArray[Any]) -> Any:
    """What *array* is a view of: the map of memory or file that it was made on, or None."""
    base: Any = array
    while isinstance(base, np.ndarray | memoryview):
        base = base.base if isinstance(base, np.ndarray) else base.obj
    return base
