"""What a plot is: a title, what it shows, and a function from a subject to charts with the table behind them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import altair as alt

from scenarios.report.subjects import LawTruth, Runs

Chart = alt.Chart | alt.LayerChart | alt.FacetChart
"""What the functions of Altair return that plots are made with."""
Cell = str | int | float | None


class Unit(StrEnum):
    """How a column's values are written on the page; downloads have them as they are."""

    TEXT = "text"
    NUMBER = "number"
    COUNT = "count"
    SHARE = "share"
    """A fraction, shown in percent."""
    CHANGE = "change"
    """A fraction that is a difference, shown in percent with its sign."""
    SECONDS = "s"
    USD = "USD"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its key in downloads, and its heading."""

    key: str
    heading: str
    unit: Unit = Unit.NUMBER
    term: str | None = None
    """Entry of the glossary that explains it."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of plain values, as many as there are columns; None where nothing defines one."""

    columns: tuple[Column, ...]
    rows: Sequence[tuple[Cell, ...]]

    def records(self) -> list[dict[str, Cell]]:
        """A dict a row, by column key."""
        keys = [column.key for column in self.columns]
        return [dict(zip(keys, row, strict=True)) for row in self.rows]


@dataclass(frozen=True, slots=True)
class Panel:
    """One chart of a plot; panels stand side by side where there is room."""

    chart: Chart
    title: str = ""
    height: int = 280


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A plot of one subject."""

    panels: tuple[Panel, ...]
    finding: str
    """What this subject's plot says, in a sentence."""
    table: Table


@dataclass(frozen=True, slots=True)
class NotDrawn:
    """Why a plot cannot be drawn of a subject."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A plot of a kind of subject."""

    name: str
    """Anchor on the page and name of exported files."""
    subject: type[Runs] | type[LawTruth]
    section: str
    order: int
    """Place on the page: plots of a section stand together, in this order."""
    title: str
    definition: str
    """What the axes and marks mean, and how to read them."""
    draw: Callable[[Any], Drawing | NotDrawn]
    """Takes the subject."""
