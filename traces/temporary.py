"""Temporary files of what is too much to hold, and what is said where there is no room for them."""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from traces.errors import SimtoolError


@contextmanager
def room() -> Iterator[None]:
    """Write to temporary files within. Raises SimtoolError where that fails."""
    try:
        yield
    except OSError as error:
        raise SimtoolError(
            f"{tempfile.gettempdir()}: {error.strerror or error}: a large trace needs room for temporary files there; "
            "set TMPDIR to a folder that has it"
        ) from None


def file_of(owner: object) -> IO[bytes]:
    """A temporary file that is gone with its *owner*. Raises SimtoolError where none can be made.

    It has no buffer: what a buffer could not write would be tried again, and fail unseen, when it is closed.
    """
    with room():
        file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
    weakref.finalize(owner, file.close)
    return file


def write_all(file: IO[bytes], data: bytes | bytearray | memoryview) -> None:
    """Write *data* where *file* stands. Raises SimtoolError where there is no room on disk."""
    rest = memoryview(data)
    with room():
        while rest:
            rest = rest[os.write(file.fileno(), rest) :]
