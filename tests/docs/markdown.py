"""Markdown tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def cell(text: str) -> str:
    """*text* as a cell: bars and line ends would end it, tags would vanish."""
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def code(text: str) -> str:
    """*text* as code in a cell."""
    return f"`{text}`".replace("|", "\\|")


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are Markdown already."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)
