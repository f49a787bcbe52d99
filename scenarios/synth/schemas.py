"""A tool's schema without its prose: what stays is structure, names and keys, and how long its texts are."""

from __future__ import annotations

from typing import Any

from scenarios.synth.words import Vocabulary

_SUBSCHEMAS = ("items", "additionalProperties", "not")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_MAPS = ("properties", "$defs", "definitions")
_KEPT = ("type", "required", "$ref")
_BOUNDS = (
    *("minItems", "maxItems", "uniqueItems", "minLength", "maxLength", "minProperties", "maxProperties"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
)
_TYPES = {"dict": "object", "float": "number", "double": "number", "tuple": "array", "list": "array", "any": None}
"""Type names of function-calling benchmarks that JSON Schema does not know."""


def structure(schema: object, vocabulary: Vocabulary) -> dict[str, Any]:
    """*schema* without defaults, patterns and examples; its texts become invented ones of the same length."""
    if not isinstance(schema, dict):
        return {}
    result: dict[str, Any] = {name: schema[name] for name in _KEPT if name in schema}
    result |= {name: schema[name] for name in _BOUNDS if isinstance(schema.get(name), int | float)}
    if isinstance(result.get("type"), str):
        kind = _TYPES.get(result["type"], result["type"])
        result = {**result, "type": kind} if kind else {k: v for k, v in result.items() if k != "type"}
    if isinstance(result.get("required"), list):
        result["required"] = [str(key) for key in result["required"]]
    return result | _invented(schema, vocabulary) | _inner(schema, vocabulary)


def _invented(schema: dict[str, Any], vocabulary: Vocabulary) -> dict[str, Any]:
    """The texts that *schema* holds itself: its description and listed strings."""
    result: dict[str, Any] = {}
    if isinstance(schema.get("description"), str):
        result["description"] = vocabulary.described(schema["description"])
    if isinstance(schema.get("enum"), list):
        result["enum"] = [_stand_in(one, vocabulary) for one in schema["enum"]]
    if "const" in schema:
        result["const"] = _stand_in(schema["const"], vocabulary)
    return result


def _inner(schema: dict[str, Any], vocabulary: Vocabulary) -> dict[str, Any]:
    result: dict[str, Any] = {}
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


def _stand_in(value: object, vocabulary: Vocabulary) -> object:
    return vocabulary.stand_in(value) if isinstance(value, str) else value
