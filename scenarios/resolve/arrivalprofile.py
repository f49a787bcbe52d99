"""Reads a day's profile of arrivals: the mean request rate of each hour."""

from __future__ import annotations

from pathlib import Path

import msgspec

from traces.errors import TraceError


def read_arrival_profile(path: Path) -> tuple[float, ...]:
    """Requests per second in each hour: a JSON list, or one number a line (``#`` begins a comment).

    Raises TraceError for other content, rates below 0, and a profile without arrivals.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TraceError(str(path), None, f"cannot be read: {error}", "give a file of hourly rates") from error
    rates = _listed(path, text) if text.lstrip().startswith("[") else _lines(path, text)
    if not rates or min(rates) < 0 or not sum(rates) > 0 or not sum(rates) < float("inf"):
        raise TraceError(str(path), None, "needs rates of 0 or more, one of them above 0", "one number for each hour")
    return tuple(rates)


def _listed(path: Path, text: str) -> list[float]:
    try:
        return msgspec.json.decode(text.encode(), type=list[float])
    except msgspec.DecodeError as error:
        raise TraceError(str(path), None, f"is no list of rates: {error}", "write [0.5, 0.2, ...]") from error


def _lines(path: Path, text: str) -> list[float]:
    rates = []
    for number, line in enumerate(text.splitlines(), start=1):
        value = line.partition("#")[0].strip()
        if not value:
            continue
        try:
            rates.append(float(value))
        except ValueError:
            raise TraceError(str(path), number, f"{value!r} is no rate", "write requests per second") from None
    return rates
