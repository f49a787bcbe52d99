"""Columns too long to hold: they grow block by block, and lie in a temporary file once they are large.

A column is read as an array all the same, mapped from its file: the pages that are looked at take memory until they
are let go of (`let_go`), and are read again when they are looked at again.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import weakref
from itertools import pairwise
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from simulator.lazyzeros import backing
from traces.errors import SimtoolError

Column = npt.NDArray[Any]
I64 = npt.NDArray[np.int64]

IN_MEMORY_BYTES = 4 << 20
"""Size of a column from which on it lies in a file."""
MOST_FILES = 256
"""Files and maps of files that may be open at a time, since processes are often allowed about a thousand; columns
beyond them stay in memory."""
PART = 1 << 20
"""Entries of a column that are worked on at a time."""


_open: weakref.WeakSet[Any] = weakref.WeakSet()


class _Mapped(mmap.mmap):
    """A file of a column; its pages can be let go of without any loss."""


class LongColumn:
    """A column of one kind of number, to which blocks are appended."""

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self._held = bytearray()
        self._file: IO[bytes] | None = None
        self._written = 0

    def __len__(self) -> int:
        """Numbers so far."""
        return (self._written + len(self._held)) // self.dtype.itemsize

    def append(self, block: Column) -> None:
        """Add the numbers of *block*, converted, row by row. Raises SimtoolError where there is no room on disk."""
        self._held += block.astype(self.dtype, copy=False).tobytes()
        if len(self._held) > IN_MEMORY_BYTES and (self._file is not None or len(_open) < MOST_FILES):
            self._write()

    def array(self) -> Column:
        """The numbers so far (read-only)."""
        if self._file is None:
            return np.frombuffer(bytes(self._held), self.dtype)
        self._write()
        mapped = _Mapped(self._file.fileno(), self._written, access=mmap.ACCESS_READ)
        _open.add(mapped)
        return np.frombuffer(mapped, self.dtype)

    def _write(self) -> None:
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
                weakref.finalize(self, self._file.close)
                _open.add(self)
            rest = memoryview(self._held)
            while rest:
                rest = rest[os.write(self._file.fileno(), rest) :]
        except OSError as error:
            raise SimtoolError(
                f"{tempfile.gettempdir()}: {error.strerror or error}: a large trace needs room for temporary files "
                "there; set TMPDIR to a folder that has it"
            ) from None
        self._written += len(self._held)
        self._held = bytearray()


def let_go(*columns: Column) -> None:
    """Free the memory of those of *columns* that lie in files; they can be read as before."""
    for column in columns:
        base = backing(column)
        if isinstance(base, _Mapped):
            base.madvise(mmap.MADV_DONTNEED)


def gathered(column: Column, starts: I64, lengths: I64) -> tuple[Column, I64]:
    """Pieces of *column* end to end, by where each starts and how long it is, and where each begins among them.

    The bounds have the end of the last piece, too.
    """
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    found = LongColumn(column.dtype)
    for part in parts_of(bounds[:-1]):
        places = np.arange(bounds[part.start], bounds[part.stop])
        found.append(column[places + np.repeat(starts[part] - bounds[part], lengths[part])])
        let_go(column)
    return found.array(), bounds


def parts_of(begins: I64) -> list[slice]:
    """Slices of pieces that begin at *begins* (ascending), of about PART of what they count in each slice."""
    last = int(begins[-1]) if begins.size else -1
    marks = np.searchsorted(begins, np.arange(0, last + 1, PART))
    return [slice(*pair) for pair in pairwise(np.unique(np.append(marks, begins.size)).tolist())]


class SparseColumn:
    """A LongColumn that takes no room while it has only zeros."""

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._column = LongColumn(dtype)
        self._zeros = 0

    def append(self, block: Column) -> None:
        """Add the numbers of *block*."""
        if block.any():
            self._column.append(np.broadcast_to(self._column.dtype.type(0), self._zeros))
            self._column.append(block)
            self._zeros = 0
        else:
            self._zeros += block.size

    def array(self) -> Column:
        """The numbers so far (read-only)."""
        if not len(self._column):
            return np.broadcast_to(self._column.dtype.type(0), self._zeros)
        self._column.append(np.zeros(self._zeros, self._column.dtype))
        self._zeros = 0
        return self._column.array()
