"""Tool schemas without prose: what stays is structure, names and keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scenarios.synth.words import Vocabulary

_SUBSCHEMAS = ("items", "additionalProperties", "not")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_MAPS = ("properties", "$defs", "definitions")
_KEPT = ("type", "required", "$ref", "minItems", "maxItems", "minimum", "maximum")
_TYPES = {"dict": "object", "float": "number", "double": "number", "tuple": "array", "list": "array", "any": None}
"""Type names of function-calling benchmarks that JSON Schema does not know."""


def structure(schema: object, vocabulary: Vocabulary) -> dict[str, Any]:
    """*schema* without descriptions, defaults and examples; listed strings become stand-ins."""
    if not isinstance(schema, dict):
        return {}
    result: dict[str, Any] = {name: schema[name] for name in _KEPT if name in schema}
    if isinstance(result.get("type"), str):
        kind = _TYPES.get(result["type"], result["type"])
        result = {**result, "type": kind} if kind else {k: v for k, v in result.items() if k != "type"}
    if isinstance(result.get("required"), list):
        result["required"] = [str(key) for key in result["required"]]
    if isinstance(schema.get("enum"), list):
        result["enum"] = [_stand_in(one, vocabulary) for one in schema["enum"]]
    if "const" in schema:
        result["const"] = _stand_in(schema["const"], vocabulary)
    for name in _SUBSCHEMAS:
        if name in schema:
            inner = schema[name]
            result[name] = inner if isinstance(inner, bool) else structure(inner, vocabulary)
    for name in _LISTS:
        if isinstance(schema.get(name), list):
            result[name] = [structure(one, vocabulary) for one in schema[name]]
    for name in _MAPS:
        if isinstance(schema.get(name), dict):
            result[name] = {key: structure(one, vocabulary) for key, one in schema[name].items()}
    return result


def prose_of(schema: object) -> Iterator[str]:
    """Descriptions anywhere in *schema*."""
    if isinstance(schema, dict):
        for name, inner in schema.items():
            if name == "description" and isinstance(inner, str):
                yield inner
            else:
                yield from prose_of(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from prose_of(inner)


def _stand_in(value: object, vocabulary: Vocabulary) -> object:
    return vocabulary.stand_in(value) if isinstance(value, str) else value
