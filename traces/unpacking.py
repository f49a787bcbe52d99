"""Compressed and UTF-16 content as plain bytes, in bounds, with an end where the stored one is cut off."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Callable
from typing import IO, Protocol, cast

import zstandard

from traces.errors import TraceError
from traces.zstd_frames import MAGIC, is_whole

MAX_BYTES = 4 << 30
"""Bytes a file may have after decompression: stops a compression bomb."""

_GZIP_MAGIC = b"\x1f\x8b"
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


Cut = Callable[[str], None]
"""Takes the name of a file whose end cannot be decompressed."""


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...
    def close(self) -> None: ...


class _Unpacked(io.RawIOBase):
    """The readable content of the file *name* that is stored as *raw*; raises TraceError past MAX_BYTES bytes.

    Content whose end cannot be decompressed ends before it where *cut* is told of it, else it raises.
    """

    def __init__(self, stream: _Readable, raw: IO[bytes], name: str, cut: Cut | None) -> None:
        self._stream = stream
        self._raw = raw
        self._path = name
        self._cut = cut
        self._left = MAX_BYTES
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        data = self._read(len(buffer)) if not self._ended else b""
        self._ended = not data
        self._left -= len(data)
        if self._left < 0:
            raise TraceError(self._path, None, f"more than {MAX_BYTES} bytes after decompression", "split the file")
        buffer[: len(data)] = data
        return len(data)

    def _read(self, size: int) -> bytes:
        try:
            return self._stream.read(size)
        except (OSError, EOFError, zlib.error, zstandard.ZstdError) as error:
            if self._cut is not None:
                self._cut(self._path)
                return b""
            raise TraceError(self._path, None, f"cannot decompress: {error}", "check that the file is whole") from error
        except UnicodeDecodeError as error:
            raise TraceError(self._path, None, f"not valid UTF-16: {error.reason}", "write it as UTF-8") from error

    def close(self) -> None:
        self._stream.close()
        self._raw.close()
        super().close()


class _Gzip:
    """Gives what could be decompressed before it meets a cut."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._stream = gzip.GzipFile(fileobj=raw)

    def read(self, size: int) -> bytes:
        return self._stream.read1(size)

    def close(self) -> None:
        self._stream.close()


class _Zstd:
    """Raises EOFError where the last frame is cut off."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw = raw
        self._stream = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True, closefd=False)

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        if not data and not is_whole(self._raw):
            raise EOFError("the file ends before its last frame does")
        return data

    def close(self) -> None:
        self._stream.close()  # type: ignore[no-untyped-call]


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


def _buffered(stream: _Readable, raw: IO[bytes], name: str, cut: Cut | None) -> IO[bytes]:
    return io.BufferedReader(cast("io.RawIOBase", _Unpacked(stream, raw, name, cut)), 1 << 20)


def unpacked(raw: IO[bytes], name: str, cut: Cut | None) -> IO[bytes]:
    """The content of the file *name* stored as *raw*, told by its first bytes; *cut* as in SourceFile."""
    magic = raw.read(4)
    raw.seek(0)
    stream = raw
    if magic[:2] == _GZIP_MAGIC:
        stream = _buffered(_Gzip(raw), raw, name, cut)
    elif magic == MAGIC:
        stream = _buffered(_Zstd(raw), raw, name, cut)
    if isinstance(stream, io.BufferedReader):
        magic = stream.peek(4)
    return _buffered(_Utf16(stream), stream, name, None) if magic[:2] in _UTF16_MARKS else stream
