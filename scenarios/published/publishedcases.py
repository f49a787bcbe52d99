"""Published acceptance measurements in the shapes that predictions need, picked out of a file of cases by shape."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from traces.errors import TraceError


class PublishedCase(msgspec.Struct, frozen=True):
    """One case of the file: what was run and what was measured, each by name."""

    id: str
    source: str
    inputs: dict[str, Any]
    measured: dict[str, Any]


@dataclass(frozen=True, slots=True)
class LengthSeries:
    """Mean acceptance length at several draft depths."""

    name: str
    gammas: tuple[int, ...]
    lengths: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class PositionRates:
    """Unconditional acceptance per draft position, from a round's start."""

    name: str
    survival: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class PositionAverage:
    """Acceptance of a first draft averaged over text positions, its lag-1 autocorrelation, and figures of rounds."""

    name: str
    average: float
    lag1: float
    first_in_rounds: float
    """Rate of a round's first draft."""
    series: LengthSeries | None


def read_cases(path: Path) -> list[PublishedCase]:
    """The cases of a JSON file. Raises TraceError if it is not a list of cases."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[PublishedCase])
    except msgspec.DecodeError as error:
        raise TraceError(
            str(path), 1, f"not a list of published cases ({error})", "give id, source, inputs, measured"
        ) from error


def length_series(case: PublishedCase) -> Iterator[LengthSeries]:
    """Each measured list with one possible acceptance length per draft depth, three depths at least."""
    gammas = case.inputs.get("gamma")
    if not isinstance(gammas, list) or len(gammas) < 3:
        return
    for name, values in case.measured.items():
        if name.startswith("derived") or not _numbers(values) or len(values) != len(gammas):
            continue
        if all(1 <= value <= gamma + 1 for gamma, value in zip(gammas, values, strict=True)):
            yield LengthSeries(f"{case.id} {name}", tuple(gammas), tuple(values))


def position_rates(case: PublishedCase) -> Iterator[PositionRates]:
    """Each measured list of at least three per-position rates that do not rise."""
    for name, value in case.measured.items():
        if "survival" not in name and "per_position" not in name:
            continue
        for label, rates in _lists(value):
            scale = 100 if max(rates) > 1 else 1
            survival = tuple(rate / scale for rate in rates)
            if len(survival) >= 3 and list(survival) == sorted(survival, reverse=True):
                yield PositionRates(f"{case.id} {label or name}", survival)


def position_average(case: PublishedCase) -> PositionAverage | None:
    """The case's average over text positions, if it gives one with autocorrelation and per-position rates."""
    average, lag1 = case.measured.get("position_average_alpha1"), case.measured.get("lag1_autocorrelation")
    rates = next(position_rates(case), None)
    if average is None or lag1 is None or rates is None:
        return None
    return PositionAverage(case.id, float(average), float(lag1), rates.survival[0], next(length_series(case), None))


def _lists(value: object) -> Iterator[tuple[str, list[float]]]:
    if _numbers(value):
        yield "", value  # type: ignore[misc]
    elif isinstance(value, dict):
        yield from ((str(key), one) for key, one in value.items() if _numbers(one))
    elif isinstance(value, list):
        yield from ((str(index), one) for index, one in enumerate(value) if _numbers(one))


def _numbers(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, int | float) for one in value)
