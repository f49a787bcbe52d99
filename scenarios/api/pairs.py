"""Two results side by side, asked for in Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from scenarios.api.frames import frame
from scenarios.api.given import Traces, paths_of
from scenarios.api.run import Run
from scenarios.comparison.compare import DEFAULT_PERCENTILES, CompareOptions
from scenarios.comparison.compare import compare as compare_runs
from scenarios.comparison.document import Comparison, ConfigDifference, Metric
from scenarios.comparison.markdown import markdown
from scenarios.comparison.source import Replayed, read_sides, run_of
from scenarios.jsonbytes import json_bytes


@dataclass(frozen=True, slots=True)
class Compared:
    """What is different in B."""

    comparison: Comparison

    @property
    def metrics(self) -> pd.DataFrame:
        """One row a metric: both values, the difference with its interval, the verdict."""
        return frame(self.comparison.metrics, Metric)

    @property
    def breakdowns(self) -> pd.DataFrame:
        """One row a part of a total (queue, prefill, cache, decode, retries ...): where the difference comes from."""
        rows = [
            {"breakdown": one.key, "unit": one.unit, "part": part.name, "a": part.a, "b": part.b}
            | {"difference": part.difference, "low": part.low, "high": part.high}
            for one in self.comparison.breakdowns
            for part in (*one.parts, one.total)
        ]
        return pd.DataFrame(rows)

    @property
    def settings(self) -> pd.DataFrame:
        """One row a setting that differs."""
        return frame(self.comparison.config_differences, ConfigDifference)

    def to_json(self) -> str:
        """The document as ``simtool compare --json -`` prints it."""
        return json_bytes(self.comparison).decode()

    def to_markdown(self, *, every_percentile: bool = False) -> str:
        """The comparison as ``simtool compare --markdown`` writes it."""
        return markdown(self.comparison, every_percentile=every_percentile)


def compare(
    a: Run | str | Path,
    b: Run | str | Path,
    *,
    labels: tuple[str, str] = ("A", "B"),
    goodput: Sequence[str] = (),
    slo_attainment: float | None = None,
    fail_if_worse: Sequence[str] = (),
    metric_percentiles: str = DEFAULT_PERCENTILES,
    confidence_level: float = 0.95,
    seed: int | None = None,
    traces: Traces | None = None,
) -> Compared:
    """Hold *b* against *a*, as ``simtool compare`` does: runs, folders of ``simtool replay -o``, scenarios.

    *labels* name runs that have no folder; *traces* and *seed* are what scenarios are replayed with; the other
    arguments are the command's options. Raises OptionError for options out of range, SimtoolError for what is neither.
    """
    options = CompareOptions(
        goodput=tuple(goodput),
        slo_attainment=slo_attainment,
        fail_if_worse=tuple(fail_if_worse),
        metric_percentiles=metric_percentiles,
        confidence_level=confidence_level,
        seed=seed or 0,
    )
    given = [
        run_of(one.asked, label) if isinstance(one, Run) else str(one)
        for one, label in zip((a, b), labels, strict=True)
    ]
    how = Replayed(traces=paths_of(traces), seed=seed)
    return Compared(compare_runs(*read_sides(given[0], given[1], how), options))
