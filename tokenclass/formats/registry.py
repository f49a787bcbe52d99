"""All families by name, built from the shared grammars."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from tokenclass.formats.families_json import JSON_FAMILIES
from tokenclass.formats.families_markup import MARKUP_FAMILIES
from tokenclass.formats.families_other import OTHER_FAMILIES
from tokenclass.formats.family import Family

_ALL = (*JSON_FAMILIES, *MARKUP_FAMILIES, *OTHER_FAMILIES)
FAMILIES: Mapping[str, Family] = {family.name: family for family in _ALL}
"""Every built-in family by its own name."""
ALIASES: Mapping[str, str] = {alias: family.name for family in _ALL for alias in family.aliases}
"""Other names (parsers of serving engines, model names) to a family's own name."""


def get_family(name: str) -> Family:
    """The family called *name* (own name or alias). Raises ValueError naming the nearest spellings."""
    family = FAMILIES.get(ALIASES.get(name, name))
    if family is not None:
        return family
    if name == "auto":
        raise ValueError("family 'auto' is not a format; call detect_family on the trace's completions first")
    near = difflib.get_close_matches(name, [*FAMILIES, *ALIASES], n=3, cutoff=0.5)
    hint = f"did you mean {', '.join(near)}?" if near else f"known: {', '.join(sorted(FAMILIES))}"
    raise ValueError(f"unknown output format {name!r}; {hint}")
