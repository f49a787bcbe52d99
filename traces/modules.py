"""The modules of a package whose parts are one module each."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from types import ModuleType


def names_in(package: ModuleType) -> list[str]:
    """Names of the modules in *package* in alphabetical order, without ``base``, which says what the others are."""
    return sorted(one.name for one in pkgutil.iter_modules(package.__path__) if one.name != "base")


def modules_in(package: ModuleType) -> list[ModuleType]:
    """Those modules, imported."""
    return [import_module(f"{package.__name__}.{name}") for name in names_in(package)]
