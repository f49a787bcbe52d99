"""Writes a table's values for the page."""

from __future__ import annotations

from scenarios.figures import number, percent
from scenarios.report.plot import Cell, Column, Unit
from traces.safetext import safe, safe_line


def shown(value: Cell, column: Column) -> str:
    """*value* as text, in the unit of its *column*."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return safe_line(value)
    if column.unit is Unit.SHARE:
        return percent(float(value))
    if column.unit is Unit.CHANGE:
        return percent(float(value), sign=True)
    if column.unit is Unit.COUNT:
        return f"{round(value):,}"
    if column.unit is Unit.SECONDS:
        return seconds(float(value))
    return number(value)


def heading(column: Column) -> str:
    """The column's heading, with its unit where the values do not show it."""
    return f"{column.heading}, USD" if column.unit is Unit.USD and "USD" not in column.heading else column.heading


def prose(text: str) -> str:
    """*text* safe to show, its numbers kept together with their unit."""
    return safe(text).replace(" %", "\u00a0%")


def is_text(column: Column) -> bool:
    """Whether the column's values stand to the left."""
    return column.unit is Unit.TEXT


def seconds(value_s: float) -> str:
    """A time in the unit that suits its size."""
    if value_s and abs(value_s) < 1:
        return f"{number(value_s * 1e3)} ms"
    return f"{number(value_s)} s"
