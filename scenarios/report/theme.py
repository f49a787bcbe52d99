"""Colours of pages and charts. Charts name them as CSS variables, so one chart serves light, dark and print."""

from __future__ import annotations

import re
from typing import Any

LIGHT: dict[str, str] = {
    "paper": "#ffffff",
    "raised": "#f5f7fa",
    "ink": "#17202c",
    "muted": "#566273",
    "grid": "#e1e6ec",
    "edge": "#c6ced8",
    "link": "#0b5cad",
    "good": "#0f7a46",
    "bad": "#b3261e",
    "unsure": "#8a5a00",
    "class-S": "#0b63b5",
    "class-R": "#b4530a",
    "class-F": "#0d7d5b",
    "with": "#0b63b5",
    "without": "#6b7683",
    "law": "#7a4fb5",
    "exact": "#0b63b5",
    "sampled": "#b4530a",
    "measured": "#0d7d5b",
    "run-1": "#0b63b5",
    "run-2": "#b4530a",
    "run-3": "#0d7d5b",
    "run-4": "#7a4fb5",
    "run-5": "#a3306e",
    "run-6": "#6b6b00",
    "run-7": "#00707c",
    "run-8": "#566273",
}
DARK: dict[str, str] = {
    "paper": "#12171f",
    "raised": "#1b222d",
    "ink": "#e6ebf2",
    "muted": "#a3afbf",
    "grid": "#2a3442",
    "edge": "#3d4a5b",
    "link": "#7dbcff",
    "good": "#5fd39a",
    "bad": "#ff8a80",
    "unsure": "#f2bf5c",
    "class-S": "#6cb4ff",
    "class-R": "#f5a45d",
    "class-F": "#56d0a4",
    "with": "#6cb4ff",
    "without": "#9aa6b5",
    "law": "#c3a2f2",
    "exact": "#6cb4ff",
    "sampled": "#f5a45d",
    "measured": "#56d0a4",
    "run-1": "#6cb4ff",
    "run-2": "#f5a45d",
    "run-3": "#56d0a4",
    "run-4": "#c3a2f2",
    "run-5": "#f08abf",
    "run-6": "#d3d15a",
    "run-7": "#5ccbd8",
    "run-8": "#a3afbf",
}
RUN_COLOURS = 8
_DATA = ("data", "datasets")
_VARIABLE = re.compile(r"var\(--([\w-]+)\)")


def colour(name: str) -> str:
    """The CSS variable of a colour. Raises KeyError for a name that the themes lack."""
    LIGHT[name]
    return f"var(--{name})"


def chart_config() -> dict[str, Any]:
    """Vega-Lite's configuration of every chart."""
    text = {"labelColor": colour("muted"), "titleColor": colour("ink"), "titleFontWeight": 500}
    return {
        "background": "transparent",
        "font": "system-ui, sans-serif",
        "view": {"stroke": None},
        "axis": {
            **text,
            "domainColor": colour("edge"),
            "gridColor": colour("grid"),
            "tickColor": colour("edge"),
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titlePadding": 8,
            "labelOverlap": True,
            "labelSeparation": 6,
            "tickCount": 6,
        },
        "legend": {
            **text,
            "orient": "top",
            "labelFontSize": 12,
            "title": None,
            "labelLimit": 220,
            "symbolStrokeWidth": 2.5,
            "symbolSize": 90,
        },
        "text": {"color": colour("ink"), "fontSize": 12},
        "rule": {"color": colour("muted")},
        "line": {"strokeWidth": 2.2},
        "point": {"size": 70, "filled": True, "opacity": 1},
    }


def resolved(spec: Any, colours: dict[str, str]) -> Any:
    """*spec* with its CSS variables replaced by *colours*, for renderers that have no style sheet; data stay."""
    if isinstance(spec, dict):
        return {key: value if key in _DATA else resolved(value, colours) for key, value in spec.items()}
    if isinstance(spec, list):
        return [resolved(value, colours) for value in spec]
    if isinstance(spec, str):
        found = _VARIABLE.fullmatch(spec)
        return colours.get(found.group(1), spec) if found else spec
    return spec
