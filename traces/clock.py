"""Recorded times in whatever form, as seconds."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from functools import lru_cache

_LONG_FRACTION = re.compile(r"(\.\d{6})\d+")

_TO_SECONDS = len("2024-01-31 12:00:00")
_MINUTE_COLON = 16
_UNITS_PER_S = (1.0, 1e3, 1e6, 1e9)
_EPOCH_LIMIT_S = 2e10
"""Unix times in seconds stay below this (the year 2603); larger numbers are ms, us or ns."""


def unix_seconds(value: object) -> float | None:
    """Seconds since 1970 of an ISO 8601 text or a Unix time in s, ms, us or ns; None if it is neither.

    A text without a zone is taken as UTC. The unit of a number is told by its size, so it must be an absolute
    time: for times since the start of a trace use `scaled`.
    """
    if isinstance(value, str):
        return _iso_seconds(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    number = float(value)
    if not math.isfinite(number) or number < 0:
        return None
    for units in _UNITS_PER_S:
        if number / units < _EPOCH_LIMIT_S:
            return number / units
    return None


def unix_units(first: float, last: float) -> float | None:
    """Units a second of all Unix times from *first* to *last*, as unix_seconds tells them; None if they differ."""
    for units in _UNITS_PER_S:
        if first / units < _EPOCH_LIMIT_S:
            return units if last / units < _EPOCH_LIMIT_S else None
    return None


def scaled(value: object, units_per_s: float) -> float | None:
    """A number of 1/*units_per_s* seconds as seconds; None if *value* is no finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value) / units_per_s


def _iso_seconds(text: str) -> float | None:
    whole, fraction = text[:_TO_SECONDS], text[_TO_SECONDS + 1 :]
    plain = fraction.isdigit() and fraction.isascii() and text[_TO_SECONDS] == "." and text[_MINUTE_COLON] == ":"
    if plain and (start_s := _whole_second(whole)) is not None:
        return (start_s * 1_000_000 + int(fraction[:6].ljust(6, "0"))) / 1_000_000
    try:
        parsed = datetime.fromisoformat(_LONG_FRACTION.sub(r"\1", text.strip()))
    except ValueError:
        try:
            return unix_seconds(float(text))
        except ValueError:
            return None
    if parsed.tzinfo is None:
        parsed = parsed.replace(tzinfo=UTC)
    return parsed.timestamp()


@lru_cache(maxsize=64)
def _whole_second(text: str) -> int | None:
    """Unix time of a text like ``2024-01-31 12:00:00``, which has no zone; None for any other."""
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        return None
    return int(parsed.replace(tzinfo=UTC).timestamp()) if parsed.tzinfo is None else None
