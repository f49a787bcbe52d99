"""JSON Schema of a scenario file."""

from __future__ import annotations

from typing import Any

from scenarios.options.option import Declared, Section
from scenarios.options.settings import all_options
from scenarios.scenariofile.load import SWEEP, TRACE_FILES
from scenarios.scenariofile.values import choices, takes_table

_JSON_TYPES = {bool: "boolean", int: "integer", float: "number"}


def schema() -> dict[str, Any]:
    """The schema: one object a section, unknown keys refused."""
    sections: dict[str, Any] = {section.key: _object({}, section.value) for section in Section}
    for one in all_options().values():
        sections[one.option.section.key]["properties"][one.key] = _value(one)
    sections[Section.TRACE.key]["properties"][TRACE_FILES] = {
        "description": "Recordings: files or folders, relative to the scenario file.",
        "type": ["string", "array"],
        "items": {"type": "string"},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "simtool scenario",
        **_object(
            {
                "name": {"type": "string", "description": "What results are called."},
                "about": {"type": "string", "description": "What the scenario is for."},
                "extends": {"type": "string", "description": "A shipped scenario's name, or a path from this file."},
                **sections,
                SWEEP: {"type": "object", "description": "Axes and how they are searched (simtool sweep)."},
            },
            "",
        ),
    }


def _object(properties: dict[str, Any], about: str) -> dict[str, Any]:
    described = {"description": about} if about else {}
    return {"type": "object", **described, "properties": properties, "additionalProperties": False}


def _value(one: Declared) -> dict[str, Any]:
    if one.repeated:
        return {"description": one.option.help, "type": ["array", "string"], "items": {"type": "string"}}
    base = _JSON_TYPES.get(one.type, "string")
    kinds = [base]
    if base == "string" and not choices(one):
        kinds = ["string", "number", *(["object"] if takes_table(one) else [])]
    if one.optional:
        kinds.append("null")
    found: dict[str, Any] = {"description": one.option.help, "type": kinds if len(kinds) > 1 else base}
    if choices(one):
        found["enum"] = [*choices(one), *([None] if one.optional else [])]
    if one.option.least is not None:
        found["minimum"] = one.option.least
    if one.option.most is not None:
        found["maximum"] = one.option.most
    if one.default is not None:
        found["default"] = one.default
    return found
