"""The JSON object that wraps a call: which member is the name, which the arguments, and how to tell it is a call."""

from __future__ import annotations

import json
from collections.abc import Mapping

import msgspec

from tokenclass.classes import SubClass
from tokenclass.formats.cursor import Call
from tokenclass.formats.literals import BLANKS
from tokenclass.formats.schema import ANY, Json, Shape, StringShape, Tools

_LONGEST_KEY = 40


class Wrapper(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Keys of the object around one call."""

    name_keys: tuple[str, ...] = ("name",)
    args_keys: tuple[str, ...] = ("arguments", "parameters")
    id_keys: tuple[str, ...] = ()
    """Members whose string is a typed value (V), such as a numbered call id."""
    other_keys: tuple[str, ...] = ("id", "type", "function")
    """Members that may come first in a call although they say nothing about it."""
    keyed_by_name: bool = False
    """The object has one member: tool name -> arguments."""

    def shape(self, tools: Tools) -> Shape:
        """The shape of the wrapper object."""
        return _KeyedByName(tools) if self.keyed_by_name else _CallShape(self, tools)

    def starts(self, text: str, pos: int) -> bool | None:
        """Whether a call object starts at *pos*; None if the text ends before that shows."""
        if not text.startswith("{", pos):
            return None if pos >= len(text) else False
        pos = skip_blanks(text, pos + 1)
        if pos >= len(text):
            return None
        if text[pos] != '"':
            return False
        key, quote, _ = text[pos + 1 : pos + 1 + _LONGEST_KEY].partition('"')
        if self.keyed_by_name:
            return True
        known = self.name_keys + self.args_keys + self.id_keys + self.other_keys
        if quote:
            return key in known
        return None if len(text) - pos <= _LONGEST_KEY and any(k.startswith(key) for k in known) else False

    def call(self, value: object, tools: Tools) -> Call | None:
        """The call that a complete object means; None if it is none."""
        if not isinstance(value, Mapping):
            return None
        if self.keyed_by_name:
            if len(value) != 1:
                return None
            ((name, arguments),) = value.items()
            return {"name": name, "arguments": decoded(arguments)}
        inner = value.get("function")
        if isinstance(inner, Mapping):
            value = inner
        name = next((value[key] for key in self.name_keys if key in value), None)
        if not isinstance(name, str):
            return None
        arguments = next((value[key] for key in self.args_keys if key in value), {})
        del tools
        return {"name": name, "arguments": decoded(arguments)}

    def has_arguments(self, value: object) -> bool:
        """Whether a complete object carries an argument member."""
        return isinstance(value, Mapping) and (self.keyed_by_name or any(key in value for key in self.args_keys))


def decoded(arguments: object) -> object:
    """Arguments as an object: null means none, a string that holds a JSON object is decoded."""
    if arguments is None or arguments == "":
        return {}
    if isinstance(arguments, str):
        try:
            inner = json.loads(arguments)
        except (ValueError, RecursionError):
            return arguments
        return inner if isinstance(inner, dict) else arguments
    return arguments


def skip_blanks(text: str, pos: int) -> int:
    """Offset of the first character from *pos* on that is not white space."""
    end = len(text)
    while pos < end and text[pos] in BLANKS:
        pos += 1
    return pos


class ListOf(Shape):
    """A list whose items all have one shape."""

    __slots__ = ("_item",)
    types = frozenset({"array"})

    def __init__(self, item: Shape) -> None:
        self._item = item

    def item(self) -> Shape:
        """The shape of a list's items."""
        return self._item


class _CallShape(Shape):
    __slots__ = ("_ids", "_name", "_tools", "_wrapper", "keys")
    types = frozenset({"object"})

    def __init__(self, wrapper: Wrapper, tools: Tools) -> None:
        self._wrapper = wrapper
        self._tools = tools
        self._name = StringShape(SubClass.N, tools.names)
        self._ids = StringShape(SubClass.V)
        self.keys = (wrapper.name_keys[0],)

    def child(self, key: str, so_far: Json) -> Shape:
        """The shape of the value under *key*."""
        wrapper = self._wrapper
        if key in wrapper.name_keys:
            return self._name
        if key in wrapper.args_keys:
            return self._tools.shape(next((so_far[name] for name in wrapper.name_keys if name in so_far), None))
        if key in wrapper.id_keys:
            return self._ids
        return self if key == "function" else ANY


class _KeyedByName(Shape):
    __slots__ = ("_tools", "keys")
    types = frozenset({"object"})
    key_label = SubClass.N

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self.keys = tools.names

    def child(self, key: str, so_far: Json) -> Shape:
        """The shape of the value under *key*."""
        del so_far
        return self._tools.shape(key)
