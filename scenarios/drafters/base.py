"""What a drafter without a model declares, and how one is found by name.

A drafter is one module in this folder with a ``DRAFTER``; its name is what ``--speculative-method`` takes. Modules are
loaded with the command line: what they compute with is imported where it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from traces.modules import modules_in

if TYPE_CHECKING:
    from simulator.acceptance.base import Potential
    from simulator.tokenstore import TokenStore

PACKAGE = "scenarios.drafters"

O = TypeVar("O")  # noqa: E741


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafter:
    """A drafter that needs no probabilities: run on recorded tokens, it is known which drafts the target accepts."""

    name: str
    options: type[Any]
    """A frozen dataclass of options (`scenarios.options.option`) with a default each, which checks their ranges."""
    run: Callable[[TokenStore, Any, Sequence[int]], Mapping[int, Potential]]
    """The outcome of a round from every output token, in the order of the store, at each of some depths; exact at
    temperature 0."""
    cuts: bool
    """Whether a deeper outcome, cut, is that of a shallower depth: then it is run at one depth alone."""


DrafterOptions = tuple[object, ...]
"""Options of drafters, at most one instance of each drafter's class; one that is left out has its defaults."""


@cache
def drafters() -> dict[str, Drafter]:
    """All drafters by name."""
    found: list[Drafter] = [module.DRAFTER for module in modules_in(import_module(PACKAGE))]
    return {one.name: one for one in found}


def options_of(cls: type[O], given: DrafterOptions) -> O:
    """The options of type *cls* in *given*, or its defaults."""
    return next((one for one in given if isinstance(one, cls)), cls())
