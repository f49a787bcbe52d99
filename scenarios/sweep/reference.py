"""What each point is compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scenarios.options.replay import OptionError
from scenarios.options.settings import all_options
from scenarios.sweep.axes import shown
from scenarios.sweep.points import Point


class Reference:
    """Finds the reference of a point.

    *given* names values of axes; the reference of a point then has these and is otherwise like it. Without, all points
    are compared with one: that at the base's own values if it is among them, else the first.
    """

    def __init__(self, points: Sequence[Point], given: Mapping[str, Any], base: Mapping[str, Any]) -> None:
        self._given = given
        self._numbers = {_named(point.values): point.number for point in reversed(points)}
        known = all_options()
        keys = [key for key in points[0].values if key in known] if points else []
        at_base = self._numbers.get(_named({**{key: base.get(key, known[key].default) for key in keys}, **given}))
        first = points[0].number if points else None
        self.home: int | None = at_base if at_base is not None else first
        """The one point that all others are compared with, or that the tornado starts from."""

    def of(self, point: Point) -> int | None:
        """Number of the point that *point* is compared with; None if there is none, or it is that point."""
        found = self.home
        if self._given:
            found = self._numbers.get(_named({**point.values, **self._given}))
        return None if found == point.number else found


def with_reference(points: Sequence[Point], given: Mapping[str, Any]) -> list[Point]:
    """*points* with the one that *given* names in full first, if it is not among them.

    Raises OptionError if *given* leaves axes open and none of *points* has its values.
    """
    if not given or not points:
        return list(points)
    if any(all(shown(point.values[key]) == shown(value) for key, value in given.items()) for point in points):
        return list(points)
    if len(given) < len(points[0].values):
        wanted = ", ".join(f"{key} {shown(value)}" for key, value in given.items())
        raise OptionError(f"--reference {wanted}: no point has it; add the value to its axis")
    values = {key: given[key] for key in points[0].values}
    rows = [(values, values), *((point.values, point.settings) for point in points)]
    return [Point(number=at, values=one, settings=two) for at, (one, two) in enumerate(rows)]


def _named(values: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((key, shown(value)) for key, value in sorted(values.items()))
