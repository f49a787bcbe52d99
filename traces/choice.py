"""What to say of a word that is none of those known."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def not_one_of(value: str, known: Iterable[str]) -> str:
    """``'x' is not one of a, b``, with the nearest of *known* where one is near."""
    names = [str(name) for name in known]
    return f"{value!r} is not one of {', '.join(names)}{hint(value, names)}"


def hint(value: str, known: Iterable[str]) -> str:
    """``; did you mean 'a'?`` for the nearest of *known*; empty where none is near."""
    guess = did_you_mean(value, known, "")
    return f"; {guess}" if guess else ""


def did_you_mean(value: str, known: Iterable[str], otherwise: str) -> str:
    """``did you mean 'a'?`` for the nearest of *known*; *otherwise* where none is near."""
    near = difflib.get_close_matches(value, list(known), n=1)
    return f"did you mean {near[0]!r}?" if near else otherwise
