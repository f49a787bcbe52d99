"""Output formats: the grammars of tool calls and reasoning, and the families built from them."""

from __future__ import annotations

from tokenclass.formats.family import Family, ReasoningEnd
from tokenclass.formats.formatfile import load_format_file
from tokenclass.formats.registry import ALIASES, FAMILIES, get_family

__all__ = ["ALIASES", "FAMILIES", "Family", "ReasoningEnd", "get_family", "load_format_file"]
