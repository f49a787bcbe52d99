"""Function schemas of a BFCL-style file as tools, with arguments drawn from what the schema allows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from scenarios.synth.declared import exponential
from scenarios.synth.empirical import Choice, Empirical
from scenarios.synth.model import Member, ToolModel, ValueModel
from scenarios.synth.schemas import structure
from scenarios.synth.words import Vocabulary
from traces.errors import TraceError

STRING_TOKENS = 5.0
"""Mean length of a free string argument."""
OPTIONAL_SHARE = 0.5
_MAX_DEPTH = 5
_DIGITS = Empirical((1.0, 2.0, 3.0, 4.0))


def read_tools(path: Path, vocabulary: Vocabulary) -> tuple[ToolModel, ...]:
    """A tool for each distinct function in the file: question rows with a ``function`` list, or function documents.

    JSON lines or one JSON list. Raises TraceError without any function.
    """
    found: dict[str, dict[str, Any]] = {}
    for function in _functions(path):
        name = function.get("name")
        if isinstance(name, str) and isinstance(function.get("parameters"), dict):
            found.setdefault(name, function)
    if not found:
        raise TraceError(str(path), None, "holds no function schemas", "give a BFCL question file or function document")
    return tuple(_tool(name, function, vocabulary) for name, function in found.items())


def _functions(path: Path) -> Iterator[dict[str, Any]]:
    for number, row in enumerate(_rows(path), start=1):
        if not isinstance(row, dict):
            raise TraceError(str(path), number, "row is no JSON object", "give JSON lines of questions or functions")
        listed = row.get("function", [row])
        yield from (one for one in (listed if isinstance(listed, list) else [listed]) if isinstance(one, dict))


def _rows(path: Path) -> Iterator[Any]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise TraceError(str(path), None, f"cannot be read: {error.strerror}", "give a schema file") from error
    if data.lstrip().startswith(b"["):
        yield from _json(path, 1, data)
        return
    for number, line in enumerate(data.splitlines(), start=1):
        if line.strip():
            yield _json(path, number, line)


def _json(path: Path, number: int, data: bytes) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise TraceError(str(path), number, f"is no JSON: {error}", "give JSON lines or one list") from error


def _tool(name: str, function: dict[str, Any], vocabulary: Vocabulary) -> ToolModel:
    schema = structure(function["parameters"], vocabulary)
    schema.setdefault("type", "object")
    return ToolModel(
        name=name,
        schema=schema,
        description_tokens=len(str(function.get("description", "")).split()),
        arguments=value_model(schema),
        wait_s=None,
        result_tokens=exponential(80.0),
    )


def value_model(schema: dict[str, Any], depth: int = 0) -> ValueModel:
    """Values that *schema* allows; required members always, others every second time."""
    listed = schema.get("enum")
    if isinstance(listed, list) and (words := [one for one in listed if isinstance(one, str)]):
        return ValueModel(kinds=Choice.of({"string": 1.0}), enum=Choice.of(dict.fromkeys(words, 1.0)))
    kind = schema.get("type", "string")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), "null")
    if depth >= _MAX_DEPTH or kind not in ("object", "array", "integer", "number", "boolean", "null"):
        return ValueModel(
            kinds=Choice.of({"string": 1.0}),
            string_tokens=exponential(STRING_TOKENS),
            styles=Choice.of({"words": 0.6, "identifier": 0.25, "path": 0.15}),
        )
    if kind == "array":
        inner = schema.get("items")
        item = value_model(inner if isinstance(inner, dict) else {}, depth + 1)
        return ValueModel(kinds=Choice.of({"array": 1.0}), items=Empirical((1.0, 2.0, 3.0)), item=item)
    if kind == "object":
        required = schema.get("required", [])
        properties = schema.get("properties", {})
        members = tuple(
            Member(key=key, share=1.0 if key in required else OPTIONAL_SHARE, value=value_model(inner, depth + 1))
            for key, inner in properties.items()
            if isinstance(inner, dict)
        )
        return ValueModel(kinds=Choice.of({"object": 1.0}), members=members)
    return ValueModel(kinds=Choice.of({kind: 1.0}), digits=_DIGITS)
