"""JSON text cut into its values without building them anew: the members of an array, or values after one another."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

_GAP = re.compile(r"[\s,]*")
_DECODER = json.JSONDecoder(strict=False)


def values_of(text: str) -> Iterator[str]:
    """Yield the JSON text of each member of an array, or of values one after another, each in one line.

    Text that is no JSON ends it, and is yielded as it stands.
    """
    place = _after_gap(text, 0)
    array = text.startswith("[", place)
    place = _after_gap(text, place + array)
    while place < len(text) and not (array and text.startswith("]", place) and not text[place + 1 :].strip()):
        try:
            _, end = _DECODER.raw_decode(text, place)
        except (ValueError, RecursionError):
            end = len(text)
        yield text[place:end].replace("\r", " ").replace("\n", " ")
        place = _after_gap(text, end)


def _after_gap(text: str, place: int) -> int:
    gap = _GAP.match(text, place)
    return gap.end() if gap is not None else place
