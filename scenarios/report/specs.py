"""Charts as Vega-Lite documents: for the page, where they take the width there is, and for files of a fixed width."""

from __future__ import annotations

from typing import Any

import altair as alt

from scenarios.report.plot import Drawing, Panel, Plot
from scenarios.report.theme import LIGHT, chart_config, resolved
from traces.safetext import safe_line

FILE_WIDTH = 420
VEGA_LITE = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
"""Version of Vega-Lite that the charts are written for."""


def page_spec(plot: Plot, drawing: Drawing, panel: Panel) -> dict[str, Any]:
    """The document of one panel on a page, without its configuration."""
    return {
        **_bare(panel),
        "width": "container",
        "height": panel.height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "description": safe_line(f"{plot.title}. {panel.title}. {drawing.finding}"),
    }


def file_spec(drawing: Drawing) -> dict[str, Any]:
    """The document of all panels side by side, in the colours of a light page."""
    parts: list[dict[str, Any]] = []
    datasets: dict[str, Any] = {}
    for panel in drawing.panels:
        part = {**_bare(panel), "width": FILE_WIDTH, "height": panel.height}
        datasets |= part.pop("datasets", {})
        parts.append({**part, "title": panel.title} if panel.title and len(drawing.panels) > 1 else part)
    body = {
        "hconcat": parts,
        "spacing": 40,
        "datasets": datasets,
        "resolve": {"scale": dict.fromkeys(("color", "shape", "strokeDash"), "independent")},
    }
    config = {**chart_config(), "background": LIGHT["paper"], "title": {"fontSize": 13, "fontWeight": 500}}
    return {**resolved(body, LIGHT), "config": resolved(config, LIGHT)}


def _bare(panel: Panel) -> dict[str, Any]:
    spec = panel.chart.to_dict()
    for key in ("$schema", "config"):
        spec.pop(key, None)
    cleaned: dict[str, Any] = _cleaned(spec)
    return cleaned


def _cleaned(value: Any) -> Any:
    """*value* with text of recordings made safe to show."""
    if isinstance(value, dict):
        return {key: _cleaned(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_cleaned(one) for one in value]
    return safe_line(value) if isinstance(value, str) else value
