"""Tool definitions in the shapes of OpenAI, Anthropic, Gemini and Bedrock requests, as ToolSpec."""

from __future__ import annotations

import orjson

from traces.model import ToolSpec
from traces.records import Json, as_dict, as_list, first_text, parsed

_WRAPPERS = ("function", "custom", "toolSpec")
_SCHEMAS = ("parameters", "input_schema", "inputSchema", "parametersJsonSchema", "parameters_json_schema")


def tool_specs(value: object) -> tuple[ToolSpec, ...]:
    """Tools of a request's *value*: an array of definitions, an object of them by name, or such an array as text."""
    if isinstance(value, str):
        value = _parsed(value)
    if isinstance(value, dict) and not first_text(value.get("name"), value.get("type")):
        members: list[object] = _members_by_name(value)
    else:
        members = as_list(value) if not isinstance(value, dict) else [value]
    specs: list[ToolSpec] = []
    for member in members:
        specs += _specs_of(member)
    return tuple(specs)


def tool_spec(value: object) -> ToolSpec | None:
    """The tool that *value* defines; None without a name. A hosted tool is named by its type."""
    outer = as_dict(value)
    inner = next((as_dict(outer[key]) for key in _WRAPPERS if isinstance(outer.get(key), dict)), outer)
    kind = first_text(outer.get("type"))
    name = first_text(inner.get("name"), outer.get("name"), kind if kind != "function" else None)
    if name is None:
        return None
    schema = next((inner[key] for key in _SCHEMAS if inner.get(key) is not None), None)
    if isinstance(schema, str):
        schema = _parsed(schema)
    schema = as_dict(schema)
    if set(schema) == {"json"}:
        schema = as_dict(schema["json"])
    return ToolSpec(name=name, description=first_text(inner.get("description")) or "", parameters=schema)


def _specs_of(member: object) -> list[ToolSpec]:
    declared = as_dict(member)
    nested = declared.get("functionDeclarations") or declared.get("function_declarations")
    if nested is not None:
        return [spec for item in as_list(nested) if (spec := tool_spec(item)) is not None]
    spec = tool_spec(_parsed(member) if isinstance(member, str) else member)
    return [] if spec is None else [spec]


def _members_by_name(value: Json) -> list[object]:
    return [{"name": name, **member} for name, member in value.items() if isinstance(member, dict)]


def _parsed(text: str) -> object:
    try:
        return parsed(text.encode())
    except orjson.JSONDecodeError:
        return None
