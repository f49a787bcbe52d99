"""Input files as bytes: folders, compression, standard input, lines with numbers and bounds."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from traces.errors import TraceError
from traces.meter import ByteMeter
from traces.unpacking import Cut, unpacked

HEAD_BYTES = 1 << 16
"""Bytes of a file that sniffing sees."""
_BLOCK_BYTES = 1 << 15
_MARK = b"\xef\xbb\xbf"
"""Byte order mark of UTF-8."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One input file. *name* is the path as the user gave it, for messages."""

    path: Path | None
    name: str
    data: bytes | None = None
    """Whole content, where it is at hand: of standard input, or of a file that was unwrapped."""
    in_folder: bool = False
    """Whether it was found in a folder rather than named by itself."""
    meter: ByteMeter | None = field(default=None, compare=False, repr=False)
    """Is told how far the content was read."""
    cut: Cut | None = field(default=None, compare=False, repr=False)
    """Is told when the end of the content cannot be decompressed; None: that raises."""

    def open_stored(self, meter: ByteMeter | None = None) -> IO[bytes]:
        """Open the bytes as stored, not decompressed. Raises TraceError if unreadable."""
        if self.data is not None:
            return io.BytesIO(self.data)
        path = Path(self.path or "")
        try:
            return path.open("rb") if meter is None else meter.open(path)
        except OSError as error:
            raise TraceError(self.name, None, error.strerror or str(error), "check the path") from error

    def open(self) -> IO[bytes]:
        """Open for reading, decompressing .gz and .zst by content, UTF-16 as UTF-8. Raises TraceError if unreadable."""
        return unpacked(self.open_stored(self.meter), self.name, self.cut)

    def head(self) -> bytes:
        """The first HEAD_BYTES of the content."""
        with self.open() as stream:
            return stream.read(HEAD_BYTES)

    def read(self) -> bytes:
        """The whole content, without a byte order mark."""
        with self.open() as stream:
            return stream.read().removeprefix(_MARK)

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield (line number from 1, line without its end) of each non-blank line."""
        with self.open() as stream:
            for number, line in enumerate(stream, start=1):
                text = (line.removeprefix(_MARK) if number == 1 else line).strip()
                if text:
                    yield number, text

    def blocks(self) -> Iterator[bytes]:
        """Yield the content some whole lines at a time, without a byte order mark."""
        with self.open() as stream:
            mark = _MARK
            while block := stream.read(_BLOCK_BYTES):
                if not block.endswith(b"\n"):
                    block += stream.readline()
                yield block.removeprefix(mark)
                mark = b""

    @property
    def suffix(self) -> str:
        """Lower-case suffix of the name, without that of a compression."""
        names = [part for part in Path(self.name).suffixes if part not in (".gz", ".zst")]
        return names[-1].lower() if names else ""


def find_files(paths: list[str]) -> list[SourceFile]:
    """Files named by *paths*: files as they are, folders walked in sorted order, ``-`` for standard input.

    Hidden files, links and empty files inside folders are passed over. Raises TraceError when a path does not
    exist or nothing is left.
    """
    found: list[SourceFile] = []
    for text in paths:
        if text == "-":
            found.append(SourceFile(None, "<stdin>", sys.stdin.buffer.read()))
            continue
        path = Path(text)
        if path.is_dir():
            found += [
                SourceFile(file, str(file), in_folder=True) for file in sorted(path.rglob("*")) if _usable(file, path)
            ]
        elif path.exists():
            found.append(SourceFile(path, text))
        else:
            raise TraceError(text, None, "no such file or folder", "check the path")
    if not found:
        raise TraceError(", ".join(paths) or "input", None, "no files to read", "name a trace file or a folder of them")
    return found


def _usable(file: Path, root: Path) -> bool:
    hidden = any(part.startswith(".") for part in file.relative_to(root).parts)
    return file.is_file() and not hidden and not file.is_symlink() and file.stat().st_size > 0
