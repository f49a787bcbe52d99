"""What a metric of a replay declares, and all there are: one module of `scenarios.runs.metrics` each, with a METRIC."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from scenarios.runs import metrics
from simulator.replay import Replay
from simulator.window import Window
from simulator.workload import Workload
from traces.modules import modules_in


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One figure of a replay, in results, tables, reports, comparisons and as an objective of sweeps."""

    name: str
    """Key in results, with its unit (_s, _tokens ...)."""
    label: str
    """As in tables."""
    unit: str
    """As in tables: ``%`` shows a share times 100."""
    lower_is_better: bool
    definition: str
    of: Callable[[Replay, Workload, Window], float | None]
    """The figure of the measured part of a replay; None where nothing defines it."""

    @property
    def heading(self) -> str:
        """Label and unit."""
        return f"{self.label}, {self.unit}" if self.unit else self.label

    def shown(self, value: float | None) -> float | None:
        """*value* as tables have it."""
        return value * 100 if value is not None and self.unit == "%" else value


@cache
def all_metrics() -> tuple[Metric, ...]:
    """Every metric, by name."""
    found: list[Metric] = [module.METRIC for module in modules_in(metrics)]
    return tuple(sorted(found, key=lambda metric: metric.name))
