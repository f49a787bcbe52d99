"""A comparison as headline and tables of text, for the terminal and for Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from scenarios.comparison.document import Breakdown, Comparison, Metric, Objective, Part, Side
from scenarios.comparison.metrics import LATENCIES
from scenarios.figures import number, percent
from scenarios.options.parameters import Value
from simulator.metrics import PERCENTILES, percentile_name

_HEADLINES = ("p50_e2el_ms", "p50_session_s", "output_throughput_tokens_per_s", "C_total_usd_per_1000_turns")
_LONGEST = 40
"""Characters of a parameter's value in a table."""
_SMALL = 0.1


@dataclass(frozen=True, slots=True)
class Sheet:
    """One table; its first column is text."""

    title: str
    columns: list[str]
    rows: list[tuple[str, ...]]
    notes: list[str]


def headline(comparison: Comparison) -> list[str]:
    """What B is against A, in a few lines, and how the two go together."""
    by_key = {metric.key: metric for metric in comparison.metrics}
    shown = [by_key[key] for key in _HEADLINES if key in by_key]
    lines = [f"B ({comparison.b.label}) against A ({comparison.a.label})"]
    lines += [f"{_label(one)}: {figure(one.a)} -> {figure(one.b)} ({_change(one)}, {one.verdict})" for one in shown]
    lines.append(f"{comparison.pairing.capitalize()}: {comparison.pairing_reason}.")
    lines += [f"Missed: {one.label} is {_worse(one.worse_percent)} (limit {one.limit_percent:g} %)"
              for one in comparison.gates if not one.met]  # fmt: skip
    lines += [f"Missed: {percent(one.attainment_b)} of B's requests are within {_objective(one)} "
              f"({percent(one.wanted_attainment)} wanted)" for one in comparison.objectives if not one.met]  # fmt: skip
    return lines


def sheets(comparison: Comparison, *, every_percentile: bool = False) -> list[Sheet]:
    """The tables in order: settings first, then limits, metrics and where differences come from.

    Of the default percentiles only the middle and the last are shown, unless *every_percentile*.
    """
    found = [_config(comparison)]
    if comparison.gates:
        found.append(_gates(comparison))
    if comparison.objectives:
        found.append(_objectives(comparison))
    found.append(_metrics(comparison, every_percentile=every_percentile))
    explained: set[str] = set()
    level = f"{comparison.confidence_level * 100:g} %"
    return found + [_breakdown(one, explained, level) for one in comparison.breakdowns]


def figure(value: float | None, *, sign: bool = False) -> str:
    """A number with three significant digits, small ones included; a dash for None."""
    if value is None or not math.isfinite(value):
        return "-"
    plus = "+" if sign and value > 0 else ""
    if value == 0:
        return "0"
    if abs(value) >= _SMALL:
        return plus + number(value)
    return f"{plus}{value:.{2 - math.floor(math.log10(abs(value)))}f}" if abs(value) >= 1e-6 else f"{plus}{value:.1e}"


def _change(metric: Metric) -> str:
    if metric.relative is None:
        return figure(metric.difference, sign=True)
    return percent(metric.relative, sign=bool(metric.relative))


def _label(metric: Metric) -> str:
    return f"{metric.label} {metric.unit}".strip()


def _config(comparison: Comparison) -> Sheet:
    rows: list[tuple[str, ...]] = [
        (one.name, _value(one.a), _value(one.b), " / ".join(dict.fromkeys(filter(None, (one.origin_a, one.origin_b)))))
        for one in comparison.config_differences
    ]
    notes = [_side("A", comparison.a), _side("B", comparison.b)]
    if not rows:
        notes.insert(0, "no option differs")
    return Sheet("Settings that differ", ["option", "A", "B", "origin"], rows, notes)


def _value(value: Value) -> str:
    text = "-" if value is None else str(value) if not isinstance(value, float) else f"{value:g}"
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _side(name: str, side: Side) -> str:
    return (
        f"{name}: {side.sessions:,} sessions, {side.turns:,} turns, {side.attempts:,} attempts of trace "
        f"{side.trace_sha256[:16]}; seed {side.seed}; simtool {side.version}; {side.modelled_engine}"
    )


def _gates(comparison: Comparison) -> Sheet:
    rows: list[tuple[str, ...]] = [(one.label, _worse(one.worse_percent), f"{one.limit_percent:g} %", _met(met=one.met))
            for one in comparison.gates]  # fmt: skip
    return Sheet("Limits on how much worse B may be", ["metric", "B is", "limit", ""], rows, [])


def _worse(percent_worse: float | None) -> str:
    if percent_worse is None:
        return "no share of A"
    if percent_worse == 0:
        return "equal"
    return f"{abs(percent_worse):.2f} % {'worse' if percent_worse > 0 else 'better'}"


def _met(*, met: bool) -> str:
    return "met" if met else "missed"


def _objective(one: Objective) -> str:
    return "all objectives" if one.limit_ms is None else f"{one.metric.upper()} {figure(one.limit_ms)} ms"


def _objectives(comparison: Comparison) -> Sheet:
    wanted = percent(comparison.objectives[0].wanted_attainment)
    rows: list[tuple[str, ...]] = [
        (
            "all" if one.limit_ms is None else f"{one.metric.upper()} ms",
            "" if one.limit_ms is None else figure(one.limit_ms),
            "" if one.limit_ms is None else figure(one.value_ms_b),
            percent(one.attainment_a),
            percent(one.attainment_b),
            _met(met=one.met),
        )
        for one in comparison.objectives
    ]
    columns = ["", "limit", f"B at {wanted}", "A attains", "B attains", "B"]
    return Sheet(f"Objectives: {wanted} of requests", columns, rows, [])


def _metrics(comparison: Comparison, *, every_percentile: bool) -> Sheet:
    judged = comparison.resamples > 0
    level = f"{comparison.confidence_level * 100:g} % of the difference"
    columns = ["metric", "A", "B", "difference", "relative", *([level, "verdict"] if judged else [])]
    rows: list[tuple[str, ...]] = []
    for one in _shown(comparison.metrics, every_percentile=every_percentile):
        row = [_label(one), figure(one.a), figure(one.b), figure(one.difference, sign=True)]
        row.append(percent(one.relative, sign=bool(one.relative)))
        if judged:
            row += [_interval(one.low, one.high), one.verdict]
        rows.append(tuple(row))
    return Sheet("Metrics", columns, rows, _metric_notes(comparison))


def _shown(metrics: Iterable[Metric], *, every_percentile: bool) -> list[Metric]:
    if every_percentile:
        return list(metrics)
    hidden = {"mean", *map(percentile_name, PERCENTILES[1:-1])}
    distributions = (*LATENCIES, "session")
    return [one for one in metrics if not _is_mark(one.key, hidden, distributions)]


def _is_mark(key: str, marks: set[str], distributions: Iterable[str]) -> bool:
    mark, _, rest = key.partition("_")
    return mark in marks and rest.rpartition("_")[0] in distributions


def _metric_notes(comparison: Comparison) -> list[str]:
    notes = []
    asked = comparison.requests
    if asked is not None:
        only = f"; {asked.only_in_a:,} only in A, {asked.only_in_b:,} only in B" * bool(
            asked.only_in_a or asked.only_in_b
        )
        notes.append(
            f"{asked.common:,} requests in both, of which B is faster in {asked.faster:,}, slower in "
            f"{asked.slower:,} and equal in {asked.equal:,} (E2EL){only}"
        )
    if comparison.resamples:
        notes.append(
            f"intervals: bootstrap of {comparison.resamples:,} resamples of sessions, seed {comparison.seed}; "
            "a verdict needs an interval without 0"
        )
    return notes


def _interval(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return "-"
    return f"{figure(low, sign=True)} to {figure(high, sign=True)}"


def _breakdown(breakdown: Breakdown, explained: set[str], level: str) -> Sheet:
    """Its table; what is in *explained* already is not explained again."""
    parts = [one for one in breakdown.parts if _counts(one)]
    judged = breakdown.total.low is not None
    columns = ["part", "A", "B", "difference", "of total", *([level] if judged else [])]
    total = breakdown.total.difference
    rows: list[tuple[str, ...]] = []
    for one in [*parts, breakdown.total]:
        share = percent(one.difference / total) if total else "-"
        row = [one.name, figure(one.a), figure(one.b), figure(one.difference, sign=True), share]
        rows.append(tuple(row + [_interval(one.low, one.high)] * judged))
    notes = [f"{one.name}: {one.meaning}" for one in parts if one.meaning] + breakdown.notes
    new = [note for note in notes if note not in explained]
    explained.update(new)
    return Sheet(f"{breakdown.title}, {breakdown.unit}", columns, rows, new)


def _counts(part: Part) -> bool:
    """Whether a part is anything in either result."""
    return bool(part.a or part.b or part.difference)
