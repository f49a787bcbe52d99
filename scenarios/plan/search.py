"""Bisection on an axis that should be monotone, with a memory of all that was tried, so that it can be checked."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

T = TypeVar("T")


class Breach(msgspec.Struct, frozen=True, kw_only=True):
    """More failed where less passed."""

    passed: float
    failed: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Fewest(Generic[T]):
    """The fewest for which a test passes."""

    count: int | None
    """None: not even the most allowed."""
    tried: dict[int, T]
    """All results, by number."""
    breaches: tuple[Breach, ...]
    """Where the test was not monotone among what was tried: *failed* is more than *passed*."""


def fewest(
    probe: Callable[[int], T], passes: Callable[[T], bool], start: int, most: int, guess: Callable[[T], float]
) -> Fewest[T]:
    """The fewest of 1..*most* that *passes*, tried first at *start*, then where *guess* of the last result points.

    A guess beyond what is known already is cut to it; where guesses do not halve what is left, the middle is taken,
    and on the way up steps double at least.
    The next fewer than the answer has been tried and fails, unless the answer is 1; something above it, up to twice
    as many, has been tried too. Where the test is not monotone the answer passes next to a number that fails.
    """
    tried: dict[int, T] = {}
    bad, good, step = 0, most + 1, 1
    at, left = min(max(1, start), most), most + 1
    while bad + 1 < good:
        result = tried[at] = probe(at)
        if passes(result):
            good = at
        else:
            bad = at
        stalled, left = good - bad > left // 2, good - bad
        wanted = math.ceil(min(max(guess(result), bad + 1), good - 1))
        if good > most:
            at = min(max(wanted, bad + step), 2 * bad, most)
            step *= 2
        elif stalled:
            at = (bad + good) // 2
        else:
            at = max(wanted, 1)
    count = good if good <= most else None
    if count is not None and count < most and not any(count < number <= 2 * count for number in tried):
        tried[count + 1] = probe(count + 1)
    return Fewest(count=count, tried=tried, breaches=_breaches({n: passes(one) for n, one in tried.items()}))


def _breaches(results: dict[int, bool]) -> tuple[Breach, ...]:
    least = min((number for number, good in results.items() if good), default=None)
    if least is None:
        return ()
    failed = sorted(number for number, good in results.items() if not good and number > least)
    return tuple(Breach(passed=float(least), failed=float(number)) for number in failed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Largest(Generic[T]):
    """The largest value for which a test passes, to within a ratio."""

    value: float | None
    """None: it fails at the least value tried."""
    tried: dict[float, T]
    breaches: tuple[Breach, ...]
    """*failed* is less than *passed*."""


LEAST_RATIO = 1.02
"""Rates are found to within 2 %."""
_MOST_HALVINGS = 20
_LOWER = 0.8
"""Share of the answer at which it is checked that less passes too, where nothing near was tried."""


def largest(probe: Callable[[float], T], passes: Callable[[T], bool], start: float) -> Largest[T]:
    """The largest value above 0 that *passes*, searched from *start* by doubling and halving, then by bisection.

    A value at most LEAST_RATIO times as large has been tried and fails, unless doubling found no end.
    """
    tried: dict[float, T] = {}

    def good(value: float) -> bool:
        if value not in tried:
            tried[value] = probe(value)
        return passes(tried[value])

    low, high = start, start
    halvings = 0
    while not good(low) and halvings < _MOST_HALVINGS:
        high, low = low, low / 2
        halvings += 1
    if not good(low):
        return Largest(value=None, tried=tried, breaches=())
    while high == low or good(high):
        if high != low:
            low = high
        if low > start * 2.0**_MOST_HALVINGS:
            break
        high = low * 2
    while high / low > LEAST_RATIO:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if good(middle) else (low, middle)
    if not any(low / 2 <= value < low for value in tried):
        good(low * _LOWER)
    passed = {value: passes(one) for value, one in tried.items()}
    most = max(value for value, fine in passed.items() if fine)
    broken = tuple(
        Breach(passed=most, failed=value) for value, fine in sorted(passed.items()) if not fine and value < most
    )
    return Largest(value=low, tried=tried, breaches=broken)
