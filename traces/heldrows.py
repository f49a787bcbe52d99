"""Records that wait until the whole of a file is read: many of them are packed, and lie in a temporary file."""

from __future__ import annotations

import mmap
from array import array
from collections.abc import Sequence
from itertools import accumulate
from typing import IO, Generic, TypeVar

import msgspec
from msgspec.structs import astuple, fields

from traces.temporary import file_of, write_all

Row = TypeVar("Row", bound=msgspec.Struct)

_HELD_ROWS = 1 << 17
"""Records that may wait as objects: sooner there again than packed ones, in ten times their room or more."""
_HELD_BYTES = 1 << 25
"""Bytes of packed records in memory at most."""
_MAPPED_READS = 1 << 10
"""Reads after which the pages of the file are given back: the system brings up to 64 KiB in for one."""
_PACKED_AT_A_TIME = 1 << 10
_JSON = ord("[")
"""First byte of a record packed as JSON, which no MessagePack array begins with."""


class HeldRows(Generic[Row]):
    """Records of one *kind*, by the order in which they were added.

    *objects*: up to how many they are not packed (default: about 130,000; 0: as few as are packed together).
    """

    def __init__(self, kind: type[Row], objects: int | None = None) -> None:
        self._kind = kind
        self._most = _HELD_ROWS if objects is None else objects or _PACKED_AT_A_TIME
        """Records that wait as objects until they are packed; _PACKED_AT_A_TIME once some are."""
        self._held: list[Row] = []
        """The last records, which are not packed."""
        self._packed = bytearray()
        """Packed records that are not in the file."""
        self._ends = array("q", [0])
        """Bytes before each packed record, and after the last."""
        self._file: IO[bytes] | None = None
        self._map: mmap.mmap | None = None
        """What is in the file."""
        self._written = 0
        """Bytes in the file."""
        self._reads = 0
        """From the map, since its pages were given back."""
        self._encode = msgspec.msgpack.Encoder().encode
        packed = kind if _is_array(kind) else tuple[tuple([field.type for field in fields(kind)])]  # type: ignore[misc]
        self._decode = msgspec.msgpack.Decoder(packed).decode
        self._decode_json = msgspec.json.Decoder(packed).decode

    def __len__(self) -> int:
        return len(self._ends) - 1 + len(self._held)

    def extend(self, rows: Sequence[Row]) -> None:
        """Add records. Raises SimtoolError where there is no room on disk."""
        self._held.extend(rows)
        if len(self._held) >= self._most:
            self._pack()

    def of(self, places: Sequence[int]) -> list[Row]:
        """The records at *places*. Raises SimtoolError where there is no room on disk for the last added ones."""
        if len(self._held) == len(self):
            return [self._held[place] for place in places]
        self._pack()
        found = []
        ends, written, last = self._ends, self._written, self._packed
        file = self._mapped(len(places)) if written else last
        for place in places:
            begin, end = ends[place], ends[place + 1]
            text = file[begin:end] if begin < written else last[begin - written : end - written]
            found.append(self._decode_json(text) if text[0] == _JSON else self._decode(text))
        return found if _is_array(self._kind) else [self._kind(*values) for values in found]

    def __getitem__(self, place: int) -> Row:
        return self.of((place,))[0]

    def _mapped(self, reads: int) -> mmap.mmap:
        """What is in the file, few pages of which are in memory at a time; before so many *reads*."""
        if self._map is None and self._file is not None:
            self._map = mmap.mmap(self._file.fileno(), self._written, prot=mmap.PROT_READ)
        assert self._map is not None
        self._reads += reads
        if self._reads >= _MAPPED_READS:
            self._map.madvise(mmap.MADV_DONTNEED)
            self._reads = 0
        return self._map

    def _pack(self) -> None:
        """Pack the records that are not."""
        held, self._held, self._most = self._held, [], _PACKED_AT_A_TIME
        for begin in range(0, len(held), _PACKED_AT_A_TIME):
            some = held[begin : begin + _PACKED_AT_A_TIME]
            values: Sequence[object] = some if _is_array(self._kind) else [astuple(row) for row in some]
            try:
                texts = [self._encode(value) for value in values]
            except OverflowError:  # a whole number beyond 64 bits
                texts = [msgspec.json.encode(value) for value in values]
            self._packed += b"".join(texts)
            self._ends.extend(accumulate(map(len, texts), initial=self._ends.pop()))
            if len(self._packed) >= _HELD_BYTES:
                self._write()

    def _write(self) -> None:
        if self._file is None:
            self._file = file_of(self)
        write_all(self._file, self._packed)
        self._written = self._ends[-1]
        self._packed.clear()
        self._map = None


def _is_array(kind: type[msgspec.Struct]) -> bool:
    """Whether records of this *kind* are packed as they are, and not as the tuple of their fields."""
    return bool(kind.__struct_config__.array_like)
