"""A resolved configuration as the text of a scenario file, saying where each value is from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from scenarios.options.option import Section
from scenarios.options.settings import all_options
from scenarios.scenariofile.load import TRACE_FILES


def scenario_text(values: Mapping[str, Any], origins: Mapping[str, str], traces: Sequence[str] = ()) -> str:
    """TOML that loads back to *values*; the origin of each as its comment, options without value commented out."""
    known = all_options()
    lines: list[str] = []
    for section in Section:
        keys = [key for key, one in known.items() if one.option.section is section and key in values]
        if not keys and not (section is Section.TRACE and traces):
            continue
        lines += ["", f"[{section.key}]"] if lines else [f"[{section.key}]"]
        if section is Section.TRACE and traces:
            lines.append(f"{TRACE_FILES} = {_toml(list(traces))}")
        for key in keys:
            value = values[key]
            if value is None or value in ((), []):
                lines.append(f"# {key} =  (not given)")
            else:
                lines.append(f"{key} = {_toml(value)}  # {origins.get(key, 'default')}")
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return json.dumps(str(value), ensure_ascii=False)


def sweep_text(sweep: Mapping[str, Any]) -> str:
    """The section about sweeps as TOML; empty without one."""
    if not sweep:
        return ""
    plain = {key: value for key, value in sweep.items() if not isinstance(value, Mapping)}
    tables = {key: value for key, value in sweep.items() if isinstance(value, Mapping)}
    lines = ["", "[sweep]", *(f"{key} = {_toml(value)}" for key, value in plain.items())] if plain else []
    for name, table in tables.items():
        lines += ["", f"[sweep.{name}]", *(f"{key} = {_inline(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


def _inline(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + "}"
    return _toml(value)
