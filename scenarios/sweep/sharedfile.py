"""A loaded recording as a file that any number of processes map into memory instead of copying it.

Pickle's protocol 5 puts the columns beside the objects; they become views of the mapped file, read-only.
"""

from __future__ import annotations

import mmap
import pickle
import struct
from pathlib import Path

from scenarios.recordings.loaded import Loaded
from traces.atomic import whole_file

_ALIGN = 64


def save_loaded(loaded: Loaded, path: Path) -> None:
    """Write *loaded* to *path*, for processes of this run only."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(loaded, protocol=5, buffer_callback=buffers.append)
    views = [buffer.raw() for buffer in buffers]
    sizes = [len(head), *(view.nbytes for view in views)]
    with whole_file(path) as partial, partial.open("wb") as out:
        out.write(struct.pack("<q", len(sizes)) + struct.pack(f"<{len(sizes)}q", *sizes))
        pieces: list[bytes | memoryview] = [head, *views]
        for piece in pieces:
            out.write(b"\0" * (-out.tell() % _ALIGN))
            out.write(piece)


def open_loaded(path: Path) -> Loaded:
    """What save_loaded wrote to *path*, its columns mapped."""
    with path.open("rb") as stream:
        mapped = memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
    count = struct.unpack_from("<q", mapped)[0]
    at = 8 * (1 + count)
    pieces = []
    for size in struct.unpack_from(f"<{count}q", mapped, 8):
        at += -at % _ALIGN
        pieces.append(mapped[at : at + size])
        at += size
    loaded = pickle.loads(pieces[0], buffers=pieces[1:])  # noqa: S301  written by this run itself
    assert isinstance(loaded, Loaded)
    return loaded
