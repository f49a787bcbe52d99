"""Commands that are imported when they are asked for: each has a hundred options, and a run needs those of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import typer


class LazyCommands(Mapping[str, Any]):
    """Commands by name, given the modules of `simtool` that have them.

    A module's ``app`` is a group of commands, else its ``command`` is one.
    """

    def __init__(self, modules: Mapping[str, str]) -> None:
        self._modules = modules
        self._made: dict[str, Any] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)

    def __contains__(self, name: object) -> bool:
        return name in self._modules

    def __getitem__(self, name: str) -> Any:
        """The command *name*. Raises KeyError if there is none."""
        if name not in self._made:
            self._made[name] = _made(name, import_module(f"simtool.{self._modules[name]}"))
        return self._made[name]


def _made(name: str, module: Any) -> Any:
    if hasattr(module, "app"):
        group = typer.main.get_group(module.app)
        group.name = name
        return group
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")
    alone.command(name)(module.command)
    return typer.main.get_command(alone)
