"""Records of block keys, too many to hold: written once in the order of the requests, looked at by node and by place.

They go to a temporary file once they are many. A chunk of records is stored sorted by the leading bits of their nodes,
so that all records of some nodes are read together, a part of each chunk, and a whole chunk is read as one piece.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from traces.temporary import file_of, write_all

I64 = npt.NDArray[np.int64]
Records = npt.NDArray[np.void]

RECORD = np.dtype([("node", "u8"), ("covered", "i4"), ("most", "i4"), ("place", "u4")])
"""A key: its node, the KV blocks that it covers, a second number of them, and its place in its chunk.

The second number is the blocks that the request's prompt covers; it is the complement of those covered, less than zero,
where the request after it has all of the key too and does not write it down.

Once the records of a node were looked at together: in place of the node, the place in all chunks of the first of them.
"""

_PARTS = 256
_IN_MEMORY = 32 << 20
"""Bytes of records from which on they go to a file."""


class KeyRecords:
    """Chunks of records."""

    def __init__(self) -> None:
        self._file: IO[bytes] = io.BytesIO()
        self._bounds: list[I64] = []
        """Of each chunk, where its parts begin among all records, and where the last one ends."""
        self.size = 0

    def append(self, records: Records) -> None:
        """Add a chunk, in order of place. Raises SimtoolError where there is no room on disk."""
        part = (records["node"] >> np.uint64(56)).astype(np.uint8)
        self._put(self.size, records[np.argsort(part, kind="stable")].tobytes())
        counts = np.bincount(part, minlength=_PARTS)
        self._bounds.append(self.size + np.concatenate(([0], np.cumsum(counts))))
        self.size += records.size
        if isinstance(self._file, io.BytesIO) and self.size * RECORD.itemsize > _IN_MEMORY:
            self._to_disk(self._file)

    def look(self, at: Callable[[Records, I64], None]) -> None:
        """Show *at* the records of some nodes after the other, with their places in all chunks, to change in place."""
        bounds = np.array(self._bounds).reshape(-1, _PARTS + 1)
        for part in range(_PARTS):
            extents = [(int(row[0]), row[part], row[part + 1]) for row in bounds if row[part + 1] > row[part]]
            if not extents:
                continue
            records = np.concatenate([self._read(first, last) for _, first, last in extents])
            sizes = [last - first for _, first, last in extents]
            at(records, np.repeat([start for start, _, _ in extents], sizes) + records["place"])
            written = 0
            for (_, first, _), size in zip(extents, sizes, strict=True):
                self._put(int(first), records[written : written + size].tobytes())
                written += size

    def chunks(self) -> Iterator[Records]:
        """Yield each chunk in order of place."""
        for bounds in self._bounds:
            stored = self._read(bounds[0], bounds[-1])
            records = np.empty_like(stored)
            records[stored["place"]] = stored
            yield records

    def close(self) -> None:
        """Drop all records."""
        self._file.close()

    def _to_disk(self, held: io.BytesIO) -> None:
        self._file = file_of(self)
        write_all(self._file, held.getbuffer())

    def _put(self, first: int, data: bytes) -> None:
        """Write records from number *first* on."""
        self._file.seek(first * RECORD.itemsize)
        if isinstance(self._file, io.BytesIO):
            self._file.write(data)
        else:
            write_all(self._file, data)

    def _read(self, first: Any, last: Any) -> Records:
        self._file.seek(int(first) * RECORD.itemsize)
        return np.frombuffer(self._file.read(int(last - first) * RECORD.itemsize), RECORD)
