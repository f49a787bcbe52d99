"""Names of many sessions or turns, each list of them held in as little memory as it can be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import overload

import numpy as np
import numpy.typing as npt

from simulator.longcolumns import LongColumn, ScalarColumn

_HELD_BYTES = 1 << 18


class Names(Sequence[str]):
    """A list of names, written one after the other in UTF-8: all *text*, and where each name *ends* in it, from 0."""

    def __init__(self, text: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64]) -> None:
        self._columns = text, ends
        self._text, self._ends = text.data, ends.data

    def __reduce__(self) -> tuple[Callable[..., Names], tuple[object, ...]]:
        return Names, self._columns

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
        return str(self._text[self._ends[at] : self._ends[at + 1]], "utf-8", "surrogatepass")


class NamesBuilder:
    """Collects names one by one."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._text = LongColumn(np.uint8)
        self._ends = ScalarColumn("q", [0])
        self._end = self._count = 0

    def __len__(self) -> int:
        return self._count

    def append(self, name: str) -> None:
        """Add a name."""
        text = name.encode("utf-8", "surrogatepass")
        self._held += text
        self._end += len(text)
        self._count += 1
        self._ends.append(self._end)
        if len(self._held) > _HELD_BYTES:
            self._settle()

    def extend(self, names: Sequence[str]) -> None:
        """Add many names."""
        texts = [name.encode("utf-8", "surrogatepass") for name in names]
        self._held += b"".join(texts)
        self._ends.extend(self._end + np.cumsum([len(text) for text in texts]))
        self._end += sum(map(len, texts))
        self._count += len(texts)
        if len(self._held) > _HELD_BYTES:
            self._settle()

    def build(self) -> Names:
        """The names so far."""
        self._settle()
        return Names(self._text.array(), self._ends.array())

    def _settle(self) -> None:
        self._text.append(np.array(self._held, dtype=np.uint8))
        self._held.clear()
        self._ends.settle()
