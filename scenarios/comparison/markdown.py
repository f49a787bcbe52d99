"""A comparison as Markdown, for comments on a change."""

from __future__ import annotations

from collections.abc import Iterable

from scenarios.comparison.document import Comparison
from scenarios.comparison.sheets import Sheet, headline, sheets
from traces.safetext import safe_line

_SPECIAL = str.maketrans({char: f"\\{char}" for char in "\\`*_[]<>|#~"})
_SPECIAL[ord("@")] = "@\u200b"


def markdown(comparison: Comparison, *, every_percentile: bool = False) -> str:
    """The headline, the warnings, the settings that differ and the metrics; breakdowns fold away."""
    first, *rest = headline(comparison)
    lines = [f"### {_safe(first)}", "", *(f"- {_safe(line)}" for line in rest)]
    lines += [f"- **warning:** {_safe(one)}" for one in comparison.warnings]
    made = sheets(comparison, every_percentile=every_percentile)
    open_sheets = made[: len(made) - len(comparison.breakdowns)]
    for sheet in open_sheets:
        lines += ["", f"#### {_safe(sheet.title)}", "", *_table(sheet)]
    folded = made[len(open_sheets) :]
    if folded:
        lines += ["", "<details><summary>Where the differences come from</summary>"]
        for sheet in folded:
            lines += ["", f"#### {_safe(sheet.title)}", "", *_table(sheet)]
        lines += ["", "</details>"]
    return "\n".join(lines) + "\n"


def _table(sheet: Sheet) -> list[str]:
    lines = []
    if sheet.rows:
        marks = [":---", *["---:"] * (len(sheet.columns) - 1)]
        lines = [_row(map(_safe, sheet.columns)), _row(marks)]
        lines += [_row(map(_safe, row)) for row in sheet.rows]
    if sheet.rows and sheet.notes:
        lines.append("")
    return lines + [f"{_safe(note)}  " for note in sheet.notes]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _safe(text: str) -> str:
    """Text that Markdown shows as it is: no markup, no mention of a person."""
    return safe_line(text).translate(_SPECIAL)
