"""Input files as bytes: folders, compression, standard input, lines with numbers and bounds."""

from __future__ import annotations

import codecs
import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol, cast

import zstandard

from traces.errors import TraceError
from traces.meter import ByteMeter

HEAD_BYTES = 1 << 16
"""Bytes of a file that sniffing sees."""

MAX_BYTES = 4 << 30
"""Bytes a file may have after decompression: stops a compression bomb."""

_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...
    def close(self) -> None: ...


class _Bounded(io.RawIOBase):
    """A readable stream that raises TraceError past *limit* bytes."""

    def __init__(self, stream: _Readable, raw: IO[bytes], path: str, limit: int) -> None:
        self._stream = stream
        self._raw = raw
        self._path = path
        self._left = limit

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        try:
            data = self._stream.read(len(buffer))
        except (OSError, EOFError, zlib.error, zstandard.ZstdError) as error:
            raise TraceError(self._path, None, f"cannot decompress: {error}", "check that the file is whole") from error
        except UnicodeDecodeError as error:
            raise TraceError(self._path, None, f"not valid UTF-16: {error.reason}", "write it as UTF-8") from error
        self._left -= len(data)
        if self._left < 0:
            raise TraceError(self._path, None, f"more than {MAX_BYTES} bytes after decompression", "split the file")
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._stream.close()
        self._raw.close()
        super().close()


class _Utf16:
    """UTF-16 text with its byte order mark, as some shells redirect output, read as UTF-8."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-16")()

    def read(self, size: int) -> bytes:
        data = b" "
        text = ""
        while data and not text:
            data = self._stream.read(max(1, size // 3))
            text = self._decoder.decode(data, final=not data)
        return text.encode("utf-8", "surrogatepass")

    def close(self) -> None:
        self._stream.close()


def _buffered(stream: _Readable, raw: IO[bytes], name: str) -> IO[bytes]:
    return io.BufferedReader(cast("io.RawIOBase", _Bounded(stream, raw, name, MAX_BYTES)), 1 << 20)


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
        raw = self.open_stored(self.meter)
        magic = raw.read(4)
        raw.seek(0)
        stream = raw
        if magic[:2] == _GZIP_MAGIC:
            stream = _buffered(gzip.GzipFile(fileobj=raw), raw, self.name)
        elif magic == _ZSTD_MAGIC:
            unpacked = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
            stream = _buffered(unpacked, raw, self.name)
        if isinstance(stream, io.BufferedReader):
            magic = stream.peek(4)
        return _buffered(_Utf16(stream), stream, self.name) if magic[:2] in _UTF16_MARKS else stream

    def head(self) -> bytes:
        """The first HEAD_BYTES of the content."""
        with self.open() as stream:
            return stream.read(HEAD_BYTES)

    def read(self) -> bytes:
        """The whole content, without a byte order mark."""
        with self.open() as stream:
            return stream.read().removeprefix(b"\xef\xbb\xbf")

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield (line number from 1, line without its end) of each non-blank line."""
        with self.open() as stream:
            for number, line in enumerate(stream, start=1):
                text = (line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line).strip()
                if text:
                    yield number, text

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
