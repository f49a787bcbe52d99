"""Text of recordings made safe to show: what would steer a terminal or reorder a line is shown, not sent."""

from __future__ import annotations

import unicodedata

_KEPT = "\n\t"
_JOINER = "\u200d"
"""Joins emoji; steers nothing."""


def safe(text: str) -> str:
    """*text* with control, formatting and unpaired surrogate characters written as escapes; line ends stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(char) for char in text)


def safe_line(text: str) -> str:
    """*text* as `safe`, line ends and tabs escaped as well."""
    return safe(text).replace("\n", "\\n").replace("\t", "\\t")


def _shown(char: str) -> str:
    if char in _KEPT or char == _JOINER or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return char
    return char.encode("unicode_escape", "surrogatepass").decode("ascii")
