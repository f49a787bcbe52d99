"""Where output goes: results to standard output, progress and warnings to standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console, Group
from rich.table import Table

from scenarios.figures import milliseconds, number, percent

__all__ = [
    "fail",
    "milliseconds",
    "number",
    "percent",
    "stderr_console",
    "stdout_console",
    "table",
    "write_json",
]
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
    from scenarios.jsonbytes import json_bytes

    data = json_bytes(document)
    if target == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
        return
    from pathlib import Path

    from traces.atomic import whole_file

    with whole_file(Path(target)) as partial:
        partial.write_bytes(data)


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
