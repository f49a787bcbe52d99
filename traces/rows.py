"""Lines of JSON as records of one kind: many at a time where all are in their usual form."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import msgspec

from traces.source import SourceFile

Row = TypeVar("Row", bound=msgspec.Struct)
Other = TypeVar("Other")

_UNLIKE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What a line in another form raises."""


def rows(
    file: SourceFile, kind: type[Row], other: Callable[[int, bytes], Other | None]
) -> Iterator[tuple[int, Row | Other]]:
    """Yield (line number, row) of each line that is not blank: as *kind* where it fits, else what *other* makes of it.

    *other* takes the number and the line, and answers None for what is left out.
    """
    decoder = msgspec.json.Decoder(kind)
    number = 1
    for block in file.blocks():
        count = block.count(b"\n") + (not block.endswith(b"\n"))
        found = _all_usual(block, count, decoder)
        if found is None:
            yield from _one_by_one(block, number, decoder, other)
        else:
            yield from enumerate(found, number)
        number += count


def _all_usual(block: bytes, count: int, decoder: msgspec.json.Decoder[Row]) -> list[Row] | None:
    """The rows of *count* lines that have one object each, of the decoder's kind; None if some have not.

    A brace, the end of the line and a brace follow each other between two objects, and nowhere within valid JSON. So
    if there are as many of these as ends of lines, no object goes over several lines.
    """
    if block.count(b"}\n{") + block.count(b"}\r\n{") != count - 1:
        return None
    try:
        found = decoder.decode_lines(block)
    except _UNLIKE:
        return None
    return found if len(found) == count else None


def _one_by_one(
    block: bytes, number: int, decoder: msgspec.json.Decoder[Row], other: Callable[[int, bytes], Other | None]
) -> Iterator[tuple[int, Row | Other]]:
    """What `rows` yields of *block*, whose first line has *number*."""
    row: Row | Other | None
    for place, text in enumerate(block.split(b"\n"), number):
        line = text.strip()
        if not line:
            continue
        try:
            row = decoder.decode(line)
        except _UNLIKE:
            row = other(place, line)
        if row is not None:
            yield place, row
