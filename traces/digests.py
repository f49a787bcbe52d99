"""Many names as digests of 128 bits, of which it is asked which are equal."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xxhash
from numpy.typing import NDArray

digest: Callable[[bytes], bytes] = xxhash.xxh3_128_digest
"""Digest of a name in UTF-8. Of a billion names two are equal by chance once in 10^20 times."""


def pairs(digests: bytearray) -> NDArray[np.uint64]:
    """Digests that stand one behind the other, as two numbers each."""
    return np.frombuffer(digests, np.uint64).reshape(-1, 2)


def numbered(digests: NDArray[np.uint64]) -> NDArray[np.int64]:
    """A number from 0 on for each of *digests*, equal for equal ones, and for no others."""
    order = np.argsort(digests[:, 0], kind="stable")
    if _halves_clash(digests, order):
        order = np.lexsort((digests[:, 1], digests[:, 0]))
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.cumsum(_differ(digests[:, 0], order) | _differ(digests[:, 1], order)) - 1
    return numbers


def _halves_clash(digests: NDArray[np.uint64], order: NDArray[np.intp]) -> bool:
    """Whether second halves differ where first ones are equal: *order*, of first halves, may part equal ones then."""
    return bool(np.any(_differ(digests[:, 1], order) & ~_differ(digests[:, 0], order)))


def _differ(halves: NDArray[np.uint64], order: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Of each place in *order*, whether it has another half than the place before; the first has."""
    found = np.ones(len(order), np.bool_)
    ordered = halves[order]
    np.not_equal(ordered[1:], ordered[:-1], out=found[1:])
    return found
