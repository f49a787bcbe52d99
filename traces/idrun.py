"""Block ids that count up by one, held as their first and their number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, overload

import msgspec

MAX_IDS = 1 << 24
"""Most ids of a run, which a short record could otherwise make any number of."""


class IdRun(msgspec.Struct, frozen=True, eq=False, forbid_unknown_fields=True, gc=False):
    """The *count* whole numbers from *first* on: equal to the tuple of them, which a written trace has in its place."""

    first: int
    count: Annotated[int, msgspec.Meta(ge=0, le=MAX_IDS)]

    def __len__(self) -> int:
        return self.count

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[int, ...]: ...
    def __getitem__(self, index: int | slice) -> int | tuple[int, ...]:
        found = range(self.first, self.first + self.count)[index]
        return found if isinstance(found, int) else tuple(found)

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.first, self.first + self.count))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, IdRun):
            return self.count == other.count and (self.first == other.first or not self.count)
        return tuple(self) == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))
