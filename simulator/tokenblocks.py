"""Keys of the KV blocks that prompts and outputs of known tokens fill: a hash of the tokens of each block."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tokenclass.identity import salted
from tokenclass.tagged import SegmentPrompt, SegmentTable

U64 = npt.NDArray[np.uint64]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]

_NO_KEYS = np.empty(0, np.uint64)


class BlockKeys(NamedTuple):
    """Keys of the full blocks of one request; equal leading keys mean equal leading tokens."""

    prompt: U64
    output: U64
    """Of the blocks that the output fills, a first one that the prompt began included."""
    output_tokens: int


class _Request(NamedTuple):
    segments: I32
    keys: U64


class TokenBlocks:
    """Finds the keys of requests, for one block size.

    A request whose first segments are those of the one before, in the same table, costs only what comes after them.
    """

    def __init__(self, block_size: int) -> None:
        self._size = block_size
        self._table: SegmentTable | None = None
        self._last = _Request(np.empty(0, np.int32), _NO_KEYS)

    def keys(self, prompt: SegmentPrompt, table: SegmentTable, output: tuple[int, ...] | None) -> BlockKeys:
        """Keys of a prompt, and of an output whose segments are known (None: it can't be repeated)."""
        segments = np.concatenate((prompt.segments, np.array(output, np.int32))) if output else prompt.segments
        ends = np.cumsum(table.tokens[segments], dtype=np.int64)
        known = self._known(segments, ends, table)
        keys = np.concatenate((known, self._hashed(segments, ends, known.size, table)))
        self._table, self._last = table, _Request(segments, keys)
        full = prompt.tokens // self._size
        return BlockKeys(keys[:full], keys[full:], int(ends[-1]) - prompt.tokens if output else 0)

    def _known(self, segments: I32, ends: I64, table: SegmentTable) -> U64:
        """Leading keys that the request before has too."""
        before = self._last
        if table is not self._table:
            return _NO_KEYS
        most = min(segments.size, before.segments.size)
        other = np.flatnonzero(segments[:most] != before.segments[:most])
        alike = int(other[0]) if other.size else most
        return before.keys[: ends.item(alike - 1) // self._size] if alike else _NO_KEYS

    def _hashed(self, segments: I32, ends: I64, begin: int, table: SegmentTable) -> U64:
        """Keys of the blocks from number *begin* on."""
        at = int(ends.searchsorted(begin * self._size, side="right"))
        if at == segments.size:
            return _NO_KEYS
        skipped = begin * self._size - (ends.item(at - 1) if at else 0)
        ids = np.concatenate([table.ids[segment] for segment in segments[at:].tolist()])[skipped:]
        blocks = ids[: ids.size // self._size * self._size].reshape(-1, self._size)
        words = blocks.astype(np.int32, copy=False).view(np.uint32).astype(np.uint64)
        keys: U64 = salted(words, np.arange(self._size, dtype=np.uint64)).sum(axis=1, dtype=np.uint64)
        return keys


def chained(keys: U64) -> U64:
    """Identity of each of a request's keys together with all before it; shape as *keys*."""
    places = np.arange(keys.size, dtype=np.uint64)
    return salted(np.cumsum(salted(keys, places), dtype=np.uint64), places)
