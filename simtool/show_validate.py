"""Prints what a recording holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from simtool.console import number, percent, table
from traces.outputkinds import UNKNOWN, OutputKinds
from traces.safetext import safe_line
from traces.summary import UNKNOWN_MODEL

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from traces.summary import TraceSummary

NAMES_SHOWN = 12
"""Tools and models in a table."""
_SPANS = ((2 * 86400.0, 86400.0, "days"), (2 * 3600.0, 3600.0, "h"), (120.0, 60.0, "min"), (0.0, 1.0, "s"))
_COLUMNS = ("", "share of turns", "total tokens")
_COUNTS = ("input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens")
_CLASS_NAMES = {
    "S": "calls",
    "R": "reasoning",
    "F": "prose",
    UNKNOWN: "of no known class (replay them with --class-mix or --mix-from)",
}


def print_summary(console: Console, summary: TraceSummary) -> None:
    """Print *summary*: what can be used first, then what was found, recorded, missing and left out."""
    usable = summary.turns_with_text + summary.turns_with_lengths_only
    what = "text" if summary.turns_with_text >= summary.turns_with_lengths_only else "lengths only"
    console.print(
        f"[bold]Usable: {summary.sessions:,} sessions, {usable:,} of {summary.turns:,} turns with output "
        f"({what}), {summary.tool_calls:,} tool calls[/bold]"
    )
    _pairs(console, "Found", _found(summary))
    _pairs(console, "Outputs, as recorded", _outputs(summary.output))
    if recorded := _coverage(summary):
        _section(console, "Recorded, totals over all attempts", table("", _COLUMNS, recorded))
    _counts(console, "Tool calls", _ranked(summary.tool_calls_by_name))
    if set(summary.turns_by_model) != {UNKNOWN_MODEL}:
        _counts(console, "Turns by model", _ranked(summary.turns_by_model))
    for title, counts in (
        ("Missing, so a replay must assume it", summary.missing),
        ("Assumed while reading", summary.assumptions),
        ("Left out", summary.omitted),
        ("Duplicates dropped", summary.duplicates),
    ):
        _counts(console, title, sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _found(summary: TraceSummary) -> list[tuple[str, str]]:
    """Names and values; counts of things that this recording has none of are left out."""
    formats = ", ".join(f"{name} ({_files(files)})" for name, files in summary.formats.items())
    growth, reuse = summary.prompt_growth, summary.prefix_reuse
    partly = f", by the first {reuse.of_sessions:,} sessions" if reuse.of_sessions < summary.sessions else ""
    counts = (
        ("sessions of sub-agents", summary.sub_agents),
        ("attempts", summary.attempts if summary.attempts != summary.turns else 0),
        ("attempts that were rejected", summary.rejected_attempts),
        ("turns with lengths only", summary.turns_with_lengths_only if summary.turns_with_text else 0),
        ("turns without output", summary.turns_without_output),
        ("turns with hidden reasoning", summary.hidden_reasoning_turns),
    )
    rows = [("format", formats)] if formats else []
    rows += [(name, f"{count:,}") for name, count in counts if count]
    if summary.tasks_with_outcome:
        rows.append(("tasks solved, as recorded", f"{summary.tasks_solved:,} of {summary.tasks_with_outcome:,}"))
    if summary.span_s:
        rows.append(("time from first to last", _span(summary.span_s)))
    if growth.mean_first_tokens is not None and growth.mean_last_tokens is not None:
        grown = f"{growth.mean_first_tokens:,.0f} to {growth.mean_last_tokens:,.0f} tokens"
        rows.append(("prompts, first to last turn", f"{grown}, mean of {growth.sessions:,} sessions"))
    for unit, share in (("characters", reuse.of_characters), ("tokens", reuse.of_tokens)):
        if share is not None:
            rows.append(("prefix reuse at best", f"{percent(share)} of the prompts' {unit}{partly}"))
    return rows


def _outputs(output: OutputKinds) -> list[tuple[str, str]]:
    rows = []
    shares = output.character_shares()
    if shares is not None:
        parts = ", ".join(f"{_CLASS_NAMES[name]} {percent(share)}" for name, share in shares.items())
        rows.append(("text, by characters", parts))
    if output.raw_characters:
        rows.append(("completions as emitted", f"{output.raw_characters:,} characters"))
    if output.tokens_without_text:
        parts = ", ".join(f"{count:,} {_CLASS_NAMES[name]}" for name, count in output.tokens_without_text.items())
        rows.append(("tokens without text", parts))
    return rows


def _coverage(summary: TraceSummary) -> list[tuple[str, str, str]]:
    """What is recorded of how many turns; what none has is left to the list of what is missing."""
    usage, totals, times = summary.usage_coverage, summary.recorded_tokens, summary.time_coverage
    rows = [
        (name.replace("_", " "), percent(getattr(usage, name)), f"{getattr(totals, name):,}")
        for name in _COUNTS
        if getattr(usage, name)
    ]
    shares = (
        ("time sent", times.sent_s),
        ("time of the first token", times.first_token_s),
        ("time of the end", times.end_s),
        ("tool durations", times.tool_waits),
    )
    return rows + [(name, percent(share), "") for name, share in shares if share]


def _pairs(console: Console, title: str, rows: Iterable[tuple[str, str]]) -> None:
    listed = list(rows)
    if not listed:
        return
    grid = Table.grid(padding=(0, 2, 0, 0))
    for name, value in listed:
        grid.add_row(Text(name), Text(safe_line(value)))
    _section(console, title, grid)


def _counts(console: Console, title: str, rows: Iterable[tuple[str, int]]) -> None:
    listed = list(rows)
    if not listed:
        return
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, count in listed:
        grid.add_row(f"{count:,}", Text(safe_line(name)))
    _section(console, title, grid)


def _section(console: Console, title: str, body: RenderableType) -> None:
    console.print()
    console.print(Text(title, style="bold"))
    console.print(Padding(body, (0, 0, 0, 2), expand=False))


def _ranked(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """The most frequent names, and the rest as one."""
    rows = list(counts.items())
    rest = rows[NAMES_SHOWN:]
    return rows[:NAMES_SHOWN] + ([(f"in {len(rest):,} others", sum(count for _, count in rest))] if rest else [])


def _span(span_s: float) -> str:
    unit_s, name = next((unit, name) for least, unit, name in _SPANS if span_s >= least)
    return f"{number(span_s / unit_s)} {name}"


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count:,} files"
