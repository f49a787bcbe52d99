"""Prints a comparison: what changed, the settings that differ, metrics, and where differences come from."""

from __future__ import annotations

from rich.markup import escape

from scenarios.comparison.document import Comparison
from scenarios.comparison.sheets import headline, sheets
from simtool.console import stderr_console, stdout_console, table
from traces.safetext import safe_line


def show(comparison: Comparison, *, every_percentile: bool = False, quiet: bool = False) -> None:
    """Print *comparison* to standard output, its warnings to standard error; *quiet*: the headline only."""
    console = stdout_console()
    first, *rest = headline(comparison)
    console.print(f"[bold]{escape(safe_line(first))}[/bold]")
    for line in rest:
        console.print(f"  {safe_line(line)}", markup=False)
    if not quiet:
        for sheet in sheets(comparison, every_percentile=every_percentile):
            rows = [tuple(escape(safe_line(cell)) for cell in row) for row in sheet.rows]
            console.print()
            if rows:
                console.print(table(sheet.title, sheet.columns, rows))
            else:
                console.print(f"[bold]{sheet.title}[/bold]")
            for note in filter(None, sheet.notes):
                console.print(f"  {safe_line(note)}", markup=False)
    errors = stderr_console()
    for warning in comparison.warnings:
        errors.print(f"warning: {safe_line(warning)}", markup=False)
