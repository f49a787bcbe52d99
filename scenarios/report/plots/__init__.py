"""One plot a module: each holds a `scenarios.report.plot.Plot` named PLOT, and is found by being here."""
