"""Frames of Zstandard files (RFC 8878): whether the last one is whole, which decompressing does not tell."""

from __future__ import annotations

from typing import IO

import zstandard

MAGIC = b"\x28\xb5\x2f\xfd"
_SKIPPED = tuple(bytes((low, 0x2A, 0x4D, 0x18)) for low in range(0x50, 0x60))
_HEADER_BYTES = 18
_BLOCK_HEADER_BYTES = 3
_RUN = 1
"""Type of a block that is one byte, repeated."""
_CHECKSUM_BYTES = 4


def is_whole(stored: IO[bytes]) -> bool:
    """Whether the compressed file *stored* ends where a frame does; only headers are looked at.

    What follows the frames and is none counts as their end: decompressing it fails anyway.
    """
    size = stored.seek(0, 2)
    place = 0
    while place < size:
        stored.seek(place)
        head = stored.read(_HEADER_BYTES)
        if head[:4] in _SKIPPED:
            place += 8 + int.from_bytes(head[4:8], "little")
        elif head[:4] == MAGIC:
            end = _frame_end(stored, place, head)
            if end is None:
                return False
            place = end
        else:
            return len(head) >= len(MAGIC)
    return place == size


def _frame_end(stored: IO[bytes], place: int, head: bytes) -> int | None:
    """Where the frame at *place* ends; None if its headers are cut off."""
    try:
        place += zstandard.frame_header_size(head)
        checked = zstandard.get_frame_parameters(head).has_checksum
    except zstandard.ZstdError:
        return None
    while True:
        stored.seek(place)
        block = stored.read(_BLOCK_HEADER_BYTES)
        if len(block) < _BLOCK_HEADER_BYTES:
            return None
        value = int.from_bytes(block, "little")
        kind, length, is_last = value >> 1 & 3, value >> 3, value & 1
        place += _BLOCK_HEADER_BYTES + (1 if kind == _RUN else length)
        if is_last:
            return place + (_CHECKSUM_BYTES if checked else 0)
