"""An option: one field of an options dataclass, from which everything that names options follows.

The command line, the keys of scenario files, the SIMTOOL_* variables, sweep axes, Python keywords and their reference.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, field, fields
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

_METADATA = "option"
ENV_PREFIX = "SIMTOOL_"
_NAMESPACE = {"Literal": Literal, "Path": Path}


class Section(Enum):
    """Sections of a scenario file, with their titles in --help."""

    TRACE = "Recording"
    SPECULATION = "Speculative decoding"
    ENGINE = "Engine"
    CACHE = "Prefix cache"
    REPLICAS = "Replicas"
    WORKLOAD = "Workload"
    SLO = "Metrics and objectives"
    COST = "Cost"
    RUN = "Output"

    @property
    def key(self) -> str:
        """Name of the section in a scenario file."""
        return self.name.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """What an option means and which values it takes."""

    help: str
    section: Section
    name: str | None = None
    """Key, where it is not the field's name."""
    flags: tuple[str, ...] = ()
    """Spellings on the command line beside the key's own."""
    metavar: str | None = None
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    """All values it takes."""
    known: str | None = None
    """``module:function`` that lists names it takes, for completion; others may do too (a path)."""
    parse: str | None = None
    """``module:function`` that reads the text a user gives; without it the value has the field's own type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """An option as declared by a field."""

    field_name: str
    key: str
    """Name in scenario files and on axes; the flag is ``--key`` with dashes."""
    option: Option
    type: Any
    """Of the value a user gives: bool, int, float, str or Path; for a list its items' type."""
    default: Any
    optional: bool
    """Whether None (not given) is a value."""
    repeated: bool
    """Whether the value is a list."""

    @property
    def env(self) -> str:
        """The environment variable that sets it."""
        return ENV_PREFIX + self.key.upper()

    def parsed(self, value: Any) -> Any:
        """The field's value for what a user gave."""
        if self.repeated:
            return tuple(value or ())
        if self.type is Path and value is not None:
            return Path(value)
        if value is None or self.option.parse is None or not isinstance(value, (str, int, float)):
            return value
        module, function = self.option.parse.split(":")
        return getattr(import_module(module), function)(str(value))


def option(
    default: Any,
    help: str,  # noqa: A002
    section: Section,
    **more: Any,
) -> Any:
    """A dataclass field with *default* that is an option of *section*; *more* as in Option."""
    return field(default=default, metadata={_METADATA: Option(help=help, section=section, **more)})


def declared(cls: type) -> Iterator[Declared]:
    """The options among the fields of *cls*, in their order."""
    for one in fields(cls):
        meta = one.metadata.get(_METADATA)
        if meta is None:
            continue
        hint = str if meta.parse is not None else _hint(one.type)
        value_type, optional, repeated = _plain(hint)
        yield Declared(
            field_name=one.name,
            key=(meta.name or one.name).lower(),
            option=meta,
            type=value_type,
            default=None if one.default is MISSING else one.default,
            optional=optional or one.default is None,
            repeated=repeated,
        )


def _hint(annotation: Any) -> Any:
    """The type that an annotation is, or, as text, names: of builtins, Literal and Path."""
    if not isinstance(annotation, str):
        return annotation
    return eval(annotation, dict(_NAMESPACE))  # noqa: S307  annotations of this package only


def _plain(hint: Any) -> tuple[Any, bool, bool]:
    """Type of the value, whether it may be None, whether it is a list of them."""
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        inner = [one for one in get_args(hint) if one is not type(None)]
        value, _, repeated = _plain(inner[0])
        return value, True, repeated
    if origin is tuple:
        return get_args(hint)[0], False, True
    return hint, False, False
