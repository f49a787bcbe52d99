"""Names of many sessions or turns, each list of them held in as little memory as it can be."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import overload


class Names(Sequence[str]):
    """A list of names, written one after the other in UTF-8."""

    def __init__(self) -> None:
        self._text = bytearray()
        self._ends = array("q", [0])

    def append(self, name: str) -> None:
        """Add a name."""
        self._text += name.encode("utf-8", "surrogatepass")
        self._ends.append(len(self._text))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Names) and self._text == other._text and self._ends == other._ends

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        """One name, or a slice of them."""
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        at = range(len(self))[index]
        return self._text[self._ends[at] : self._ends[at + 1]].decode("utf-8", "surrogatepass")
