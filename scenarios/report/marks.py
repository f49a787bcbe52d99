"""Parts that charts share: inline data, scales of named series that differ in more than colour, axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from scenarios.report.plot import Chart
from scenarios.report.theme import colour

CLASSES = ("S", "R", "F")
PREDICTIONS = ("law", "exact", "sampled", "measured")
WITH, WITHOUT = "with speculation", "without"
_SHAPES = ("circle", "square", "diamond", "triangle-up", "cross", "triangle-down", "triangle-right", "triangle-left")
_DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [10, 4], [4, 4], [1, 3], [12, 3])
_PERCENT = "format(datum.value * 100, '.3~g') + ' %'"


def data(rows: Sequence[dict[str, Any]]) -> alt.InlineData:
    """*rows* as data that stands in the chart itself."""
    return alt.InlineData(values=list(rows))


class Series:
    """Encodings of named series: colour, and a dash or a shape for those who cannot tell colours apart."""

    def __init__(self, field: str, names: Sequence[str], colours: Sequence[str]) -> None:
        self._field = field
        self._names = list(names)
        self._colours = [colour(one) for one in colours]

    def __len__(self) -> int:
        return len(self._names)

    def colour(self, **more: Any) -> alt.Color:
        """Colour by series."""
        return alt.Color(f"{self._field}:N", scale=alt.Scale(domain=self._names, range=self._colours), **more)

    def dash(self, **more: Any) -> alt.StrokeDash:
        """Dashes by series."""
        dashes = [list(dash) for dash in _DASHES[: len(self._names)]]
        return alt.StrokeDash(f"{self._field}:N", scale=alt.Scale(domain=self._names, range=dashes), **more)

    def shape(self, **more: Any) -> alt.Shape:
        """Shapes by series."""
        shapes = list(_SHAPES[: len(self._names)])
        return alt.Shape(f"{self._field}:N", scale=alt.Scale(domain=self._names, range=shapes), **more)


def line_and_points(base: alt.Chart, series: Series, tooltip: Sequence[alt.Tooltip]) -> Chart:
    """A line for each of *series* over *base*, its points marked by shape."""
    lines = base.mark_line().encode(series.colour())
    return alt.layer(lines, base.mark_point().encode(series.colour(), series.shape(), tooltip=list(tooltip)))


def speculation(field: str, present: Sequence[str] = (WITH, WITHOUT)) -> Series:
    """Series of replays with and without speculation."""
    colours = {WITH: "with", WITHOUT: "without"}
    return Series(field, present, [colours[name] for name in present])


def predictions(field: str, present: Sequence[str]) -> Series:
    """Series of the ways of predicting that are *present*."""
    return Series(field, present, present)


def percent_axis(**more: Any) -> alt.Axis:
    """An axis of fractions, labelled in percent."""
    return alt.Axis(labelExpr=_PERCENT, **more)


def rule(field: str, value: float, name: str, *, along: alt.X | alt.Y, dash: Sequence[int] = (4, 3)) -> Chart:
    """A line across the chart at *value* of the axis *along*, which encodes *field*; named beside it."""
    base = alt.Chart(data([{field: value, "mark": name}]))
    across = isinstance(along, alt.X)
    line = base.mark_rule(strokeDash=list(dash), strokeWidth=1.5)
    if across:
        text = base.mark_text(align="left", dx=5, baseline="top", dy=2).encode(x=along, y=alt.value(0), text="mark:N")
        return alt.layer(line.encode(x=along, tooltip=_names_itself()), text)
    text = base.mark_text(align="right", dx=-2, dy=-7).encode(y=along, x=alt.value("width"), text="mark:N")
    return alt.layer(line.encode(y=along, tooltip=_names_itself()), text)


def _names_itself() -> list[alt.Tooltip]:
    return [alt.Tooltip("mark:N", title="")]
