"""Records that wait until the whole of a file is read: many of them lie in a temporary file."""

from __future__ import annotations

import os
import tempfile
import weakref
from array import array
from collections.abc import Sequence
from typing import IO, Generic, TypeVar

import msgspec

from traces.errors import no_room

Row = TypeVar("Row", bound=msgspec.Struct)

_HELD_ROWS = 1 << 17
"""Records in memory at most."""


class HeldRows(Generic[Row]):
    """Records of one *kind*, by the order in which they were added."""

    def __init__(self, kind: type[Row]) -> None:
        self._kind = kind
        self._held: list[Row] = []
        self._file: IO[bytes] | None = None
        self._ends = array("q", [0])
        """Bytes before each record in the file, and after the last."""
        types = tuple([field.type for field in msgspec.structs.fields(kind)])
        self._decode = msgspec.msgpack.Decoder(tuple[types]).decode  # type: ignore[valid-type]

    def __len__(self) -> int:
        return len(self._ends) - 1 + len(self._held)

    def append(self, row: Row) -> None:
        """Add a record. Raises SimtoolError where there is no room on disk."""
        self._held.append(row)
        if len(self._held) >= _HELD_ROWS:
            self._write()

    def of(self, places: Sequence[int]) -> list[Row]:
        """The records at *places*."""
        return [self[place] for place in places]

    def __getitem__(self, place: int) -> Row:
        written = len(self._ends) - 1
        if place >= written or self._file is None:
            return self._held[place - written]
        begin, end = self._ends[place], self._ends[place + 1]
        return self._kind(*self._decode(os.pread(self._file.fileno(), end - begin, begin)))

    def _write(self) -> None:
        encode = msgspec.msgpack.Encoder().encode
        texts = [encode(msgspec.structs.astuple(row)) for row in self._held]
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile()  # noqa: SIM115  closed when the records are gone
                weakref.finalize(self, self._file.close)
            self._file.write(b"".join(texts))
            self._file.flush()
        except OSError as error:
            raise no_room(error) from None
        end = self._ends[-1]
        for text in texts:
            end += len(text)
            self._ends.append(end)
        self._held.clear()
