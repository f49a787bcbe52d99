"""Where output goes: results to standard output, progress and warnings to standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console, Group
from rich.table import Table

_GAP = 2

PLAIN_WIDTH = 100
"""Columns when standard output is no terminal and COLUMNS does not say otherwise."""


def stdout_console() -> Console:
    """The console for results: as wide as the terminal, plain elsewhere."""
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else PLAIN_WIDTH
    return Console(width=width, highlight=False, soft_wrap=False)


def stderr_console() -> Console:
    """The console for progress, warnings and errors."""
    return Console(stderr=True, highlight=False)


def fail(message: str, code: int) -> None:
    """Print an error and exit with *code*."""
    print(f"simtool: {message}", file=sys.stderr)  # noqa: T201
    raise SystemExit(code)


def write_json(document: Any, target: str) -> None:
    """Write *document* as JSON to the file *target*, whole or not at all, or to standard output for ``-``."""
    import msgspec

    data = msgspec.json.format(msgspec.json.encode(document), indent=2)
    if target == "-":
        sys.stdout.buffer.write(data + b"\n")
        sys.stdout.flush()
        return
    from pathlib import Path

    from traces.atomic import whole_file

    with whole_file(Path(target)) as partial:
        partial.write_bytes(data + b"\n")


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, width: int | None = None) -> Group:
    """A table whose first column is text and whose others are numbers, units in the headers.

    In a window too narrow for all columns the table goes on below, the first column repeated.
    """
    body = [tuple(row) for row in rows]
    widths = [max(map(len, column)) + _GAP for column in zip(columns, *body, strict=True)]
    limit = width if width is not None else stdout_console().width
    parts: list[list[int]] = [[]]
    used = widths[0]
    for index in range(1, len(columns)):
        if parts[-1] and used + widths[index] > limit:
            parts.append([])
            used = widths[0]
        parts[-1].append(index)
        used += widths[index]
    return Group(*(_part(title if k == 0 else "", columns, body, [0, *part]) for k, part in enumerate(parts)))


def _part(title: str, columns: Sequence[str], rows: list[tuple[str, ...]], shown: list[int]) -> Table:
    result = Table(title_justify="left", title_style="bold", box=None, pad_edge=False, padding=(0, _GAP, 0, 0))
    result.title = title or None
    for index in shown:
        result.add_column(
            columns[index], justify="left" if index == 0 else "right", no_wrap=index != 0, overflow="fold"
        )
    for row in rows:
        result.add_row(*(row[index] for index in shown))
    return result


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
