"""Holds one result against another and puts the document together."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version

from scenarios.answer import Answer
from scenarios.comparison.bysummary import by_summaries
from scenarios.comparison.config import config_differences, warnings
from scenarios.comparison.document import SCHEMA_VERSION, Comparison, Side
from scenarios.comparison.findings import Asked, Findings
from scenarios.comparison.gates import gates, parse_limits
from scenarios.comparison.sampled import by_sessions
from scenarios.comparison.totals import stored_slos
from scenarios.options.replay import OptionError
from scenarios.options.serving import MeasureOptions
from scenarios.report.subjects import Run
from scenarios.resolve.measure import Measure, resolve_measure
from simulator.metrics import PERCENTILES

DEFAULT_ATTAINMENT = Measure().slo_attainment
DEFAULT_PERCENTILES = ",".join(f"{mark:g}" for mark in PERCENTILES)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    """What a comparison looks at."""

    goodput: tuple[str, ...] = ()
    """Objectives as ``ttft:500``; none: those that B was replayed with."""
    slo_attainment: float | None = None
    """Share of requests that must meet them; None: as in B."""
    fail_if_worse: tuple[str, ...] = ()
    """Limits in per cent, as ``5`` or ``p99_ttft_ms:5``."""
    metric_percentiles: str = DEFAULT_PERCENTILES
    confidence_level: float = 0.95
    seed: int = 0


def compare(a: Run, b: Run, options: CompareOptions) -> Comparison:
    """*b* against *a*. Raises OptionError for options out of range, SimtoolError for tables that lack a column."""
    asked = _asked(b.answer, options)
    found = _findings(a, b, asked)
    limits = parse_limits(options.fail_if_worse, [metric.key for metric in found.metrics])
    return Comparison(
        schema_version=SCHEMA_VERSION,
        tool="simtool",
        version=version("simtool"),
        a=_side(a),
        b=_side(b),
        pairing=found.pairing,
        pairing_reason=found.reason,
        confidence_level=asked.confidence_level,
        resamples=found.resamples,
        seed=asked.seed,
        config_differences=config_differences(a.answer, b.answer),
        metrics=found.metrics,
        breakdowns=found.breakdowns,
        requests=found.requests,
        objectives=found.objectives,
        gates=gates(limits, found.metrics),
        warnings=[*warnings(a.answer, b.answer), *found.warnings],
    )


def _asked(b: Answer, options: CompareOptions) -> Asked:
    if not 0 < options.confidence_level < 1:
        raise OptionError(f"--confidence-level is {options.confidence_level}; it must be above 0 and below 1")
    stored = b.replay.goodput
    wanted = options.slo_attainment
    if wanted is None:
        wanted = DEFAULT_ATTAINMENT if stored is None else stored.slo_attainment
    measure = resolve_measure(
        MeasureOptions(goodput=options.goodput, slo_attainment=wanted, metric_percentiles=options.metric_percentiles)
    )
    return Asked(
        percentiles=measure.percentiles,
        slos=measure.slos or stored_slos(b),
        wanted_attainment=measure.slo_attainment,
        confidence_level=options.confidence_level,
        seed=options.seed,
    )


def _findings(a: Run, b: Run, asked: Asked) -> Findings:
    if a.tables is not None and b.tables is not None:
        return by_sessions((a.answer, a.tables.turns), (b.answer, b.tables.turns), asked)
    lacking = " and ".join(name for name, run in (("A", a), ("B", b)) if run.tables is None)
    return by_summaries(a.answer, b.answer, lacking, asked)


def _side(run: Run) -> Side:
    answer = run.answer
    return Side(
        label=run.name,
        trace_sha256=answer.trace.sha256,
        sessions=answer.trace.sessions,
        turns=answer.trace.turns,
        attempts=answer.trace.attempts,
        seed=answer.seed,
        version=answer.version,
        modelled_engine=answer.modelled_engine,
        has_table=run.tables is not None,
    )
