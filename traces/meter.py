"""How far into the input files reading has come."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path


class ByteMeter:
    """Counts the bytes of files as stored, each up to the furthest place that was read.

    Another thread may ask how far it is.
    """

    def __init__(self) -> None:
        self.stage = ""
        """What the files are read for, where that is no reading of their records."""
        self.total_bytes = 0
        """Size of all files together."""
        self._reached: dict[Path, int] = {}
        self._current: _Tracked | None = None

    def begin(self, paths: Sequence[Path], stage: str = "") -> None:
        """Count anew, the bytes of *paths*; files that cannot be looked at have none."""
        self._reached, self._current, self.total_bytes, self.stage = {}, None, 0, stage
        for path in paths:
            try:
                self.total_bytes += path.stat().st_size
            except OSError:
                continue

    def open(self, path: Path) -> io.BufferedReader:
        """Open *path* for reading. Raises OSError."""
        self._current = _Tracked(path, self)
        return io.BufferedReader(self._current, 1 << 18)

    def reach(self, path: Path, place: int) -> None:
        """Note that *path* was read up to *place*."""
        self._reached[path] = max(place, self._reached.get(path, 0))

    @property
    def read_bytes(self) -> int:
        """Bytes reached so far in all files."""
        current = self._current
        if current is not None:
            with suppress(ValueError):  # closed, which noted its last place
                self.reach(current.path, current.tell())
        return sum(list(self._reached.values()))


class _Tracked(io.FileIO):
    """A file that says how far it was read when it is closed."""

    def __init__(self, path: Path, meter: ByteMeter) -> None:
        super().__init__(path, "rb")
        self.path = path
        self._meter = meter

    def close(self) -> None:
        if not self.closed:
            self._meter.reach(self.path, self.tell())
        super().close()
