"""A user's own family, declared in a TOML or JSON file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from tokenclass.classes import PositionClass
from tokenclass.formats.channels import Channels
from tokenclass.formats.family import Family
from tokenclass.formats.gemma import GemmaCalls
from tokenclass.formats.grammar import FirstOf, Grammar
from tokenclass.formats.inkling import InklingCalls
from tokenclass.formats.json_calls import ArgumentsOnly, BareJson, JsonCalls
from tokenclass.formats.named_json import MistralCalls, NamedJson
from tokenclass.formats.nested_xml import NestedXmlCalls
from tokenclass.formats.pair_calls import PairCalls
from tokenclass.formats.pythonic import PythonCalls
from tokenclass.formats.reasoning import Reasoning
from tokenclass.formats.xml_calls import XmlCalls
from traces.errors import TraceError

_KINDS: dict[str, type[Grammar]] = {
    "json": JsonCalls,
    "bare_json": BareJson,
    "arguments_only": ArgumentsOnly,
    "named_json": NamedJson,
    "mistral": MistralCalls,
    "xml": XmlCalls,
    "nested_xml": NestedXmlCalls,
    "pairs": PairCalls,
    "pythonic": PythonCalls,
    "gemma": GemmaCalls,
    "inkling": InklingCalls,
}


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    calls: dict[str, Any] | list[dict[str, Any]] | None = None
    reasoning: Reasoning | bool = Reasoning()
    channels: Channels | None = None
    calls_in_reasoning: bool = False
    glued: tuple[str, ...] = ()


def load_format_file(path: str | Path) -> Family:
    """The family that *path* (`.toml` or `.json`) declares.

    Keys: `name`; `calls` (one table, or several tried in order; each has a `kind` and that grammar's fields),
    `reasoning` (a table, or false for none), `channels`, `calls_in_reasoning`, `glued`. Raises TraceError
    naming the file, the key and the reason.
    """
    path = Path(path)
    data = _read(path)
    try:
        declared = msgspec.convert(data, _File, dec_hook=_position_class)
        calls = _grammar(declared.calls)
    except msgspec.ValidationError as error:
        mend = "see docs/adding-a-format.md"
        raise TraceError(str(path), None, f"not a format declaration: {error}", mend) from error
    reasoning = declared.reasoning
    tags = reasoning if isinstance(reasoning, Reasoning) else Reasoning() if reasoning else None
    if calls is not None and declared.channels is not None:
        raise TraceError(str(path), None, "`calls` and `channels` exclude each other", "keep one of them")
    return Family(
        name=declared.name,
        calls=calls,
        reasoning=None if declared.channels else tags,
        channels=declared.channels,
        calls_in_reasoning=declared.calls_in_reasoning,
        glued=declared.glued,
    )


def _read(path: Path) -> object:
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise TraceError(str(path), None, f"cannot be read: {error.strerror}", "name a TOML or JSON file") from error
    if path.suffix not in (".toml", ".json"):
        raise TraceError(str(path), None, f"unknown suffix {path.suffix!r}", "use .toml or .json")
    try:
        return msgspec.json.decode(raw) if path.suffix == ".json" else msgspec.toml.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise TraceError(str(path), None, f"not valid {path.suffix[1:].upper()}: {error}", "mend the file") from error


def _grammar(declared: dict[str, Any] | list[dict[str, Any]] | None) -> Grammar | None:
    if declared is None:
        return None
    tables = declared if isinstance(declared, list) else [declared]
    if not tables:
        raise msgspec.ValidationError("`calls` is an empty list")
    options = tuple(_one(index, table) for index, table in enumerate(tables))
    return options[0] if len(options) == 1 else FirstOf(options=options)


def _one(index: int, table: dict[str, Any]) -> Grammar:
    kind = table.get("kind")
    if kind not in _KINDS:
        raise msgspec.ValidationError(f"unknown `kind` {kind!r} in calls[{index}]; known: {', '.join(_KINDS)}")
    return msgspec.convert(table, _KINDS[kind])


def _position_class(kind: type, value: object) -> object:
    if kind is PositionClass and isinstance(value, str) and value in PositionClass.__members__:
        return PositionClass[value]
    raise msgspec.ValidationError(f"expected one of S, R, F for {kind.__name__}, found {value!r}")
