"""Prints what the output tokens of a recording are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.markup import escape

from scenarios.recordings.spanlengths import Lengths
from scenarios.tags.tagreport import CALL_SUBCLASSES, KeyStats, OutputStats, TagReport, ToolStats
from simtool.console import number, percent, stdout_console, table
from simtool.tag import By
from tokenclass.classes import PositionClass, SubClass
from traces.safetext import safe_line

CLASS_NAMES = {PositionClass.S: "tool calls", PositionClass.R: "reasoning", PositionClass.F: "prose"}
SUBCLASS_NAMES = {
    SubClass.D: "delimiter",
    SubClass.N: "tool name",
    SubClass.K: "key",
    SubClass.V: "typed value",
    SubClass.T: "free string",
    SubClass.P: "punctuation",
}
_LENGTHS = ("mean", "p50", "p90", "p99", "max")
_SHARES = tuple(f"{sub.name} %" for sub in CALL_SUBCLASSES)
_SHORTEST_NAME = 24
_UNNAMED_TOOL = "(no tool named)"
_UNNAMED_AGENT = "(no agent named)"


def print_report(report: TagReport, *, by: By | None, top: int, quiet: bool) -> None:
    """Print *report* to standard output, tables of at most *top* rows; *quiet*: the first line only."""
    console = stdout_console()
    outputs = report.outputs
    console.print(f"[bold]{_headline(outputs)}[/bold]")
    if quiet:
        return
    _facts(console, outputs)
    _classes(console, outputs)
    if outputs.class_tokens["S"]:
        _subclasses(console, outputs)
    if report.sessions is not None:
        sessions = [(safe_line(row.session_id), row.outputs) for row in report.sessions]
        _groups(console, "session", sessions, top)
    elif by is By.AGENT:
        agents = [(safe_line(row.agent) if row.agent else _UNNAMED_AGENT, row.outputs) for row in report.agents]
        _groups(console, "agent", agents, top)
    if report.tools and top:
        _tools(console, report.tools, top, full=by is By.TOOL)
    if report.keys and top:
        _keys(console, report.keys, top)
    _notes(console, report)


def _headline(outputs: OutputStats) -> str:
    shares = ", ".join(
        f"{name} {percent(share)}" for name, share in (("S", outputs.w_S), ("R", outputs.w_R), ("F", outputs.w_F))
    )
    means = [f"{name} {spans.mean:,.0f}" for name, spans in outputs.span_tokens.items() if spans.mean is not None]
    spans = f"; mean spans {', '.join(means)} tokens" if means else ""
    return f"{shares} of {outputs.output_tokens:,} output tokens{spans}"


def _facts(console: Console, outputs: OutputStats) -> None:
    lines = [f"{outputs.sessions:,} sessions, {outputs.turns:,} turns; the attempt that counts of each turn."]
    if outputs.class_tokens["S"]:
        if outputs.forced_share_of_S is None:
            lines.append("Forced by grammar and schemas: not known (needs the tools' schemas in the recording).")
        else:
            lines.append(
                f"Forced by grammar and schemas: {percent(outputs.forced_share_of_S)} of the "
                f"{outputs.forced_known_S_tokens:,} S tokens with known schemas."
            )
    lines.append(
        f"{outputs.straddling_tokens:,} tokens lie across a class border; {outputs.hidden_reasoning_tokens:,} are "
        f"hidden reasoning, {outputs.opaque_tokens:,} others have no text."
    )
    if outputs.rejected_attempts:
        rejected = ", ".join(f"{name} {count:,}" for name, count in outputs.rejected_class_tokens.items())
        lines.append(f"Apart: {outputs.rejected_attempts:,} rejected attempts with {rejected} tokens.")
    if outputs.turns_not_accepted:
        lines.append(f"Of {outputs.turns_not_accepted:,} turns the last attempt was rejected as well.")
    for line in lines:
        console.print(line, markup=False)


def _classes(console: Console, outputs: OutputStats) -> None:
    rows = [
        (
            f"{label.name} {CLASS_NAMES[label]}",
            f"{outputs.class_tokens[label.name]:,}",
            percent(share),
            f"{outputs.span_tokens[label.name].count:,}",
            *_lengths(outputs.span_tokens[label.name]),
        )
        for label, share in zip(PositionClass, (outputs.w_S, outputs.w_R, outputs.w_F), strict=True)
    ]
    _print(console, "By class, spans in tokens", ["class", "tokens", "share", "spans", *_LENGTHS], rows)


def _subclasses(console: Console, outputs: OutputStats) -> None:
    rows = [
        (
            f"{sub.name} {SUBCLASS_NAMES[sub]}",
            f"{outputs.subclass_tokens[sub.name]:,}",
            percent(outputs.subclass_share_of_S[sub.name]),
        )
        for sub in CALL_SUBCLASSES
    ]
    _print(console, "Within tool calls", ["sub-class", "tokens", "of S"], rows)


def _groups(console: Console, kind: str, groups: Sequence[tuple[str, OutputStats]], top: int) -> None:
    ranked = sorted(groups, key=lambda group: -group[1].output_tokens)[:top]
    if not ranked:
        return
    spans = [f"span {label.name}" for label in PositionClass]
    counts = ["forced %", "straddling", "hidden R", "rejected"]
    columns = [kind, "turns", "tokens", "w_S %", "w_R %", "w_F %", *spans, *_SHARES, *counts]
    rows = [
        (
            _fitting(console, name),
            f"{row.turns:,}",
            f"{row.output_tokens:,}",
            *(_bare_percent(share) for share in (row.w_S, row.w_R, row.w_F)),
            *(number(row.span_tokens[label.name].mean) for label in PositionClass),
            *(_bare_percent(row.subclass_share_of_S[sub.name]) for sub in CALL_SUBCLASSES),
            _bare_percent(row.forced_share_of_S),
            f"{row.straddling_tokens:,}",
            f"{row.hidden_reasoning_tokens:,}",
            f"{row.rejected_attempts:,}",
        )
        for name, row in ranked
    ]
    _print(console, f"By {kind}, mean spans, D to P of S", columns, rows)
    _more(console, len(groups) - len(ranked))


def _tools(console: Console, tools: Sequence[ToolStats], top: int, *, full: bool) -> None:
    columns = ["tool", "calls", "tokens", "of S", "forced %", *_LENGTHS, *(_SHARES if full else ())]
    rows = [
        (
            _fitting(console, _tool(row.tool)),
            f"{row.calls:,}",
            f"{row.tokens:,}",
            percent(row.share_of_S),
            _bare_percent(row.forced_share),
            *_lengths(row.call_tokens),
            *(_bare_percent(row.subclass_share[sub.name]) for sub in CALL_SUBCLASSES if full),
        )
        for row in tools[:top]
    ]
    _print(console, "Tools, whole calls in tokens", columns, rows)
    _more(console, len(tools) - len(rows))


def _keys(console: Console, keys: Sequence[KeyStats], top: int) -> None:
    rows = [
        (
            _fitting(console, f"{_tool(row.tool)}.{safe_line(row.key)}"),
            f"{row.count:,}",
            f"{row.tokens:,}",
            percent(row.share_of_S),
        )
        for row in keys[:top]
    ]
    _print(console, "Arguments, key and value", ["argument", "times", "tokens", "of S"], rows)
    _more(console, len(keys) - len(rows))


def _print(console: Console, title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    console.print()
    console.print(table(title, columns, [[escape(cell) for cell in row] for row in rows], width=console.width))


def _lengths(lengths: Lengths) -> tuple[str, ...]:
    return tuple(number(getattr(lengths, name)) for name in _LENGTHS)


def _bare_percent(share: float | None) -> str:
    return "-" if share is None else f"{share * 100:.1f}"


def _fitting(console: Console, name: str) -> str:
    """*name*, its middle left out where it would take more than half of the line."""
    room = max(console.width // 2, _SHORTEST_NAME)
    if len(name) <= room:
        return name
    tail = room // 2
    return f"{name[: room - tail - 1]}…{name[-tail:]}"


def _tool(name: str | None) -> str:
    return _UNNAMED_TOOL if name is None else safe_line(name)


def _more(console: Console, count: int) -> None:
    if count > 0:
        console.print(f"  ... and {count:,} more (--top N, --json FILE)", markup=False)


def _notes(console: Console, report: TagReport) -> None:
    console.print()
    for title, counts in (
        ("Assumed", report.assumptions),
        ("Left out", report.omissions),
        ("Duplicates dropped", report.duplicates),
    ):
        if counts:
            console.print(f"{title}:", markup=False)
            for text, count in counts.items():
                console.print(f"  {safe_line(text)} ({count:,})", markup=False)
    console.print(f"Trace sha256 {report.trace.sha256[:16]}. Seed {report.seed}.", markup=False)
