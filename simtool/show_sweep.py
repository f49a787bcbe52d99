"""What a sweep says, on the terminal: the best point, all points, differences, what matters most."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console

from scenarios.sweep.axes import shown
from scenarios.sweep.document import ObjectiveRow, PointRow, Summary, TornadoBar
from simtool.console import number, stdout_console, table
from traces.safetext import safe

_SHOWN = ("p99_ttft_ms", "net_saving", "output_throughput_tokens_per_s")
"""Figures that stand in the table beside the objectives."""
_HEADS = {
    "usd_per_1000_sessions": "USD/1k tasks",
    "p99_e2el_ms": "p99 E2EL ms",
    "p99_ttft_ms": "p99 TTFT ms",
    "net_saving": "net saving %",
    "output_throughput_tokens_per_s": "tok/s",
}
_MOST_POINTS = 60
_MOST_WARNINGS = 6
_BAR = 30
_SHORT_NAME = 34


def show(summary: Summary, *, quiet: bool) -> None:
    """Print *summary*; only its first lines if *quiet*."""
    console = stdout_console()
    for line in _headline(summary):
        console.print(safe(line), style="bold", markup=False)
    if quiet:
        return
    _points(console, summary)
    _differences(console, summary)
    _tornado(console, summary)
    for text in (*summary.notes, *(f"warning: {warning}" for warning in summary.warnings[:_MOST_WARNINGS])):
        console.print(f"  {safe(text)}", markup=False)
    if len(summary.warnings) > _MOST_WARNINGS:
        console.print(f"  {len(summary.warnings) - _MOST_WARNINGS} more warnings in summary.json", markup=False)
    console.print(
        f"  {summary.runs.finished} runs, recording {summary.definition.trace_sha256[:12]}, simtool {summary.version}, "
        f"modelled engine {summary.modelled_engine}",
        markup=False,
    )


def _headline(summary: Summary) -> Iterator[str]:
    first = summary.objectives[0]
    best = next((row for row in summary.points if row.best), None)
    if best is not None:
        yield f"Best: {best.name}: {number(best.figures[first.key].value)} {first.unit} ({first.label})"
    elif summary.tornado:
        bar = summary.tornado[0]
        yield (
            f"What matters most for {_head(first)} is {bar.axis}: {number(bar.least)} to {number(bar.most)}, "
            f"{number(bar.at_reference)} as it is"
        )
    else:
        yield "No point has an answer"
    if len(summary.objectives) > 1 and summary.pareto:
        names = " against ".join(_head(one) for one in summary.objectives)
        listed = ", ".join(str(point) for point in summary.pareto[:12])
        more = " ..." if len(summary.pareto) > 12 else ""
        yield f"Front of {names}: {len(summary.pareto)} of {len(summary.points)} points ({listed}{more})"
    if not summary.complete:
        yield f"Interrupted: {summary.runs.finished} of {summary.runs.total} runs are finished"
    if summary.runs.failed:
        yield f"{summary.runs.failed} of {summary.runs.finished} runs failed"


def _head(objective: ObjectiveRow) -> str:
    return _HEADS.get(objective.key, f"{objective.label} {objective.unit}".strip())


def _points(console: Console, summary: Summary) -> None:
    keys = [one.key for one in summary.objectives]
    heads = [_head(one) for one in summary.objectives]
    for key in _SHOWN:
        if key not in keys:
            keys.append(key)
            heads.append(_HEADS[key])
    points = _chosen(summary)
    names = _Names(points)
    rows = []
    for point in points:
        cells = ["failed" if point.error is not None else _estimate(point, key) for key in keys]
        rows.append((_mark(point) + names.first(point), *names.columns(point), *cells))
    console.print()
    left = len(summary.points) - len(rows)
    legend = "* best, + on the front" if summary.best is not None else ""
    more = f"{left} more in results.parquet" if left else ""
    title = "Points" + (f" ({'; '.join(filter(None, (legend, more)))})" if legend or more else "")
    console.print(table(title, ["", *names.heads, *heads], rows))
    for point in summary.points:
        if point.error is not None:
            console.print(f"  {point.point} failed: {safe(point.error)}", markup=False)


def _chosen(summary: Summary) -> list[PointRow]:
    """All points; of very many, those on the front and the first ones."""
    if len(summary.points) <= _MOST_POINTS:
        return summary.points
    front = [point for point in summary.points if point.pareto or point.best][:_MOST_POINTS]
    others = [point for point in summary.points if not (point.pareto or point.best)]
    kept = {point.point for point in (*front, *others[: _MOST_POINTS - len(front)])}
    return [point for point in summary.points if point.point in kept]


class _Names:
    """How points are named in a table: in a line where that is short, else by number with a column for each axis."""

    def __init__(self, points: list[PointRow]) -> None:
        self._short = max((len(point.name) for point in points), default=0) <= _SHORT_NAME
        axes = [] if self._short else list(points[0].values)
        self.heads = [safe(axis) for axis in axes]
        self._axes = axes

    def first(self, point: PointRow) -> str:
        return f"{point.point} {safe(point.name)}" if self._short else str(point.point)

    def columns(self, point: PointRow) -> list[str]:
        return [safe(shown(point.values.get(axis))) for axis in self._axes]


def _mark(point: PointRow) -> str:
    return ("*" if point.best else " ") + ("+ " if point.pareto else "  ")


def _estimate(point: PointRow, key: str) -> str:
    found = point.figures.get(key)
    if found is None:
        return "-"
    if found.low is None or found.high is None:
        return number(found.value)
    return f"{number(found.value)} ±{number((found.high - found.low) / 2)}"


def _differences(console: Console, summary: Summary) -> None:
    compared = [point for point in _chosen(summary) if point.differences]
    keys = [one for one in summary.objectives if any(one.key in point.differences for point in compared)]
    if not compared or not keys:
        return
    references = {point.reference for point in compared}
    single = len(references) == 1
    names = _Names(compared)
    rows = []
    for point in compared:
        cells = []
        for one in keys:
            found = point.differences.get(one.key)
            cells += ["-", "-"] if found is None else [_signed(found.value), _interval(found.low, found.high)]
        to = [] if single else [str(point.reference)]
        rows.append((names.first(point), *names.columns(point), *to, *cells))
    heads = [head for one in keys for head in (_head(one), "95 %")]
    console.print()
    where = f"point {next(iter(references))}" if single else "the reference"
    to = [] if single else ["less"]
    title = f"Less {where}, on the same sessions and random numbers"
    console.print(table(title, ["", *names.heads, *to, *heads], rows))


def _signed(value: float) -> str:
    return ("+" if value > 0 else "") + number(value)


def _interval(low: float | None, high: float | None) -> str:
    return "-" if low is None or high is None else f"{_signed(low)} to {_signed(high)}"


def _tornado(console: Console, summary: Summary) -> None:
    if not summary.tornado:
        return
    least = min(bar.least for bar in summary.tornado)
    most = max(bar.most for bar in summary.tornado)
    rows = [
        (safe(bar.axis), _bar(bar, least, most), f"{number(bar.low)} at {bar.low_value}",
         f"{number(bar.high)} at {bar.high_value}", number(bar.swing))
        for bar in summary.tornado
    ]  # fmt: skip
    console.print()
    title = f"What matters most for {_head(summary.objectives[0])} ({number(least)} to {number(most)}, | as it is)"
    console.print(table(title, ["one at a time", "", "low end", "high end", "swing"], rows))


def _bar(bar: TornadoBar, least: float, most: float) -> str:
    """The reach of a bar as text; | is where the reference stands."""

    def place(value: float) -> int:
        return round((value - least) / (most - least) * (_BAR - 1)) if most > least else 0

    cells = ["=" if place(bar.least) <= at <= place(bar.most) else " " for at in range(_BAR)]
    cells[place(bar.at_reference)] = "|"
    return "".join(cells)
