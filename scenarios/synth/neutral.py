"""Renames tools and keys, for traffic that may not even tell what tools it was made with."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from scenarios.synth.empirical import Choice
from scenarios.synth.model import CALL, RUN, SEPARATOR, SessionKind, SynthModel, ValueModel


def neutral(model: SynthModel) -> SynthModel:
    """*model* with tools called tool_1, tool_2 ... and keys key_1, key_2 ..., by their order in it."""
    tools = {tool.name: f"tool_{at}" for at, tool in enumerate(model.tools, start=1)}
    keys: dict[str, str] = {}

    def key(name: str) -> str:
        return keys.setdefault(name, f"key_{len(keys) + 1}")

    def skeletons(choice: Choice) -> Choice:
        options = tuple(SEPARATOR.join(_code(code, tools) for code in one.split(SEPARATOR)) for one in choice.options)
        return Choice(options, choice.ends)

    def kind(one: SessionKind) -> SessionKind:
        heads = tuple(replace(head, tools=tuple(tools[name] for name in head.tools)) for head in one.heads)
        return replace(one, heads=heads)

    return replace(
        model,
        root=kind(model.root),
        sub=kind(model.sub) if model.sub is not None else None,
        tools=tuple(
            replace(
                tool, name=tools[tool.name], arguments=_value(tool.arguments, key), schema=_schema(tool.schema, key)
            )
            for tool in model.tools
        ),
        skeletons={_place(place, tools): skeletons(choice) for place, choice in model.skeletons.items()},
    )


def _code(code: str, tools: dict[str, str]) -> str:
    for kind in (CALL, RUN):
        if code.startswith(kind):
            return kind + tools[code.removeprefix(kind)]
    return code


def _place(place: str, tools: dict[str, str]) -> str:
    phase, bar, tool = place.partition("|")
    return phase + bar + tools.get(tool, tool)


def _value(model: ValueModel, key: Any) -> ValueModel:
    members = tuple(replace(one, key=key(one.key), value=_value(one.value, key)) for one in model.members)
    return replace(model, members=members, item=_value(model.item, key) if model.item is not None else None)


def _schema(node: Any, key: Any) -> Any:
    if isinstance(node, list):
        return [_schema(one, key) for one in node]
    if not isinstance(node, dict):
        return node
    result: dict[str, Any] = {}
    for name, inner in node.items():
        if name == "properties":
            result[name] = {key(one): _schema(value, key) for one, value in inner.items()}
        elif name == "required":
            result[name] = [key(one) for one in inner]
        else:
            result[name] = _schema(inner, key)
    return result
