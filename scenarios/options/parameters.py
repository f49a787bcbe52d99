"""Parameters with their origin: what a result says about where each number comes from."""

from __future__ import annotations

import msgspec

from simulator.origin import Origin

Value = float | int | str | bool | None


class Parameter(msgspec.Struct, frozen=True):
    """One resolved parameter of a result."""

    value: Value
    origin: Origin
    source: str
    """Who declared it or what it was derived from, in a few words."""


class ParameterBook:
    """Collects the parameters of a result by name, in the order in which they were resolved."""

    def __init__(self) -> None:
        self.entries: dict[str, Parameter] = {}

    def add(self, name: str, value: Value, origin: Origin, source: str) -> None:
        """Record a parameter; a later entry of the same name replaces the earlier one."""
        self.entries[name] = Parameter(value, origin, source)

    def choose(self, name: str, given: Value, default: Value, source: str) -> Value:
        """Record and return *given* as the user's if it is not None, else *default* with its *source*."""
        if given is not None:
            self.add(name, given, Origin.DECLARED, "given")
            return given
        self.add(name, default, Origin.DECLARED, source)
        return default
