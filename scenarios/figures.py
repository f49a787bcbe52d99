"""Numbers as people read them, in tables of the terminal and of reports."""

from __future__ import annotations


def number(value: float | None, digits: int = 3) -> str:
    """A number with *digits* significant digits, thousands separated; a dash for None; integers in full."""
    if value is None:
        return "-"
    if isinstance(value, int):
        return f"{value:,}"
    if value != value or value in (float("inf"), float("-inf")):
        return "-"
    magnitude = abs(value)
    if magnitude and magnitude < 10 ** -(digits + 1):
        return f"{value:.{digits - 1}e}"
    whole = len(str(int(magnitude))) if magnitude >= 1 else 0
    decimals = max(0, digits - whole) if magnitude >= 1 else digits
    return f"{value:,.{decimals}f}"


def milliseconds(value_s: float | None) -> str:
    """Seconds as milliseconds, three significant digits."""
    return number(None if value_s is None else value_s * 1e3)


def percent(value: float | None, *, sign: bool = False) -> str:
    """A share as per cent, one decimal."""
    if value is None or value != value:
        return "-"
    return f"{value * 100:+.1f} %" if sign else f"{value * 100:.1f} %"
