"""Finds the plots: every module of `scenarios.report.plots` that holds one."""

from __future__ import annotations

from functools import cache

from scenarios.report import plots
from scenarios.report.plot import Plot
from scenarios.report.subjects import Subject
from traces.modules import modules_in


@cache
def all_plots() -> tuple[Plot, ...]:
    """Every plot, by place on the page."""
    found: list[Plot] = [module.PLOT for module in modules_in(plots)]
    return tuple(sorted(found, key=lambda plot: (plot.order, plot.name)))


def plots_of(subject: Subject) -> list[Plot]:
    """The plots of *subject*'s kind."""
    return [plot for plot in all_plots() if isinstance(subject, plot.subject)]
