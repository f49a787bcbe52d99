"""Finds the plots: every module of `scenarios.report.plots` that holds one."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from scenarios.report import plots
from scenarios.report.plot import Plot
from scenarios.report.subjects import Subject


@cache
def all_plots() -> tuple[Plot, ...]:
    """Every plot, by place on the page."""
    found = [import_module(f"{plots.__name__}.{module.name}").PLOT for module in pkgutil.iter_modules(plots.__path__)]
    return tuple(sorted(found, key=lambda plot: (plot.order, plot.name)))


def plots_of(subject: Subject) -> list[Plot]:
    """The plots of *subject*'s kind."""
    return [plot for plot in all_plots() if isinstance(subject, plot.subject)]
