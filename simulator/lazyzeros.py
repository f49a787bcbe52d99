"""Zeros that take memory page by page, when they are first written to, and give it back when they are dropped."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
import numpy.typing as npt


def lazy_zeros(count: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """*count* zeros of their own. numpy.zeros does the same only where the C library maps memory afresh."""
    size = count * np.dtype(dtype).itemsize
    return np.frombuffer(mmap.mmap(-1, max(1, size), access=mmap.ACCESS_COPY), dtype=np.uint8)[:size].view(dtype)
