"""Columns too long to hold: they lie in temporary files once they are large, whether they grow or are filled in.

A column is read as an array all the same, mapped from its file: the pages that are looked at take memory until they
are let go of (`let_go`), and are read again when they are looked at again.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import weakref
from array import array
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import IO, Any, TypeVar

import numpy as np
import numpy.typing as npt

from simulator.lazyzeros import backing
from traces.temporary import file_of, room, write_all

T = TypeVar("T")
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
        if self._file is None:
            self._file = file_of(self)
            _open.add(self)
        write_all(self._file, self._held)
        self._written += len(self._held)
        self._held = bytearray()


class ScalarColumn:
    """A column to which numbers are appended one by one. They are held in memory until `settle`."""

    def __init__(self, kind: str, first: Sequence[float] = ()) -> None:
        """*kind* is a type code of `array.array`, *first* what it begins with."""
        self._held: array[Any] = array(kind, first)
        self._column = LongColumn(np.dtype(kind))
        self.append: Callable[[Any], None] = self._held.append

    def __len__(self) -> int:
        return len(self._column) + len(self._held)

    def extend(self, numbers: Column) -> None:
        """Add many numbers."""
        self.settle()
        self._column.append(numbers)

    def settle(self) -> None:
        """Let what was appended go to a file if the column is large."""
        self._column.append(np.array(self._held))
        del self._held[:]

    def array(self) -> Column:
        """The numbers so far (read-only)."""
        self.settle()
        return self._column.array()


def zeros_apart(count: int, kinds: Mapping[str, npt.DTypeLike]) -> dict[str, Column]:
    """*count* zeros of each of *kinds*, by name, to be written to; if they are large, all in one temporary file.

    Raises SimtoolError where there is no room on disk.
    """
    sizes = [-(-count * np.dtype(kind).itemsize // mmap.PAGESIZE) * mmap.PAGESIZE for kind in kinds.values()]
    if sum(sizes) <= IN_MEMORY_BYTES or len(_open) >= MOST_FILES:
        return {name: np.zeros(count, kind) for name, kind in kinds.items()}
    with room(), tempfile.TemporaryFile(buffering=0) as file:
        _reserve(file, sum(sizes))
        mapped = _Mapped(file.fileno(), sum(sizes))
    _open.add(mapped)
    begins = np.cumsum([0, *sizes]).tolist()
    return {
        name: np.frombuffer(mapped, kind, count, begin)
        for (name, kind), begin in zip(kinds.items(), begins, strict=False)
    }


def zeros_of(count: int, kind: npt.DTypeLike) -> Column:
    """*count* zeros of one *kind*, as `zeros_apart` has them."""
    return zeros_apart(count, {"": kind})[""]


def apart(column: Column) -> Column:
    """*column*, which is not written to, in a temporary file if it is large."""
    if column.nbytes <= IN_MEMORY_BYTES:
        return column
    found = LongColumn(column.dtype)
    for first in range(0, column.size, PART):
        found.append(column[first : first + PART])
    return found.array()


def narrow(numbers: Column) -> Column:
    """*numbers* as 32-bit integers, in a temporary file if they are large; not to be written to."""
    return apart(numbers.astype(np.int32))


def full_apart(count: int, value: complex, kind: npt.DTypeLike) -> Column:
    """*count* times *value*, to be written to; in a temporary file if that is large."""
    column = zeros_of(count, kind)
    for first in range(0, count, PART):
        column[first : first + PART] = value
    let_go(column)
    return column


def let_go_all() -> None:
    """Free the memory of all columns that lie in files."""
    for one in list(_open):
        if isinstance(one, _Mapped):
            one.madvise(mmap.MADV_DONTNEED)


def released(value: T) -> T:
    """*value*, once what was looked at for it is let go of (`let_go_all`)."""
    let_go_all()
    return value


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


def _reserve(file: IO[bytes], size: int) -> None:
    """Make room for *size* bytes: a page of a map that finds none when it is written to ends the process."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
        return
    for first in range(0, size, PART):
        write_all(file, bytes(min(PART, size - first)))


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
