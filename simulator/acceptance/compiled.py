"""Marks the loops that are compiled to machine code: those that visit single tokens and cannot be put in arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

Loop = TypeVar("Loop", bound=Callable[..., Any])


def compiled(loop: Loop) -> Loop:
    """*loop* compiled when it is first called, and kept on disk for later runs where a folder can be written."""
    try:
        kept: Loop = numba.njit(cache=True)(loop)
    except RuntimeError:
        kept = numba.njit(loop)
    return kept
