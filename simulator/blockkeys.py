"""Block paths of prompts that are known by the keys of their blocks, found for a whole workload at once.

A key stands for a fixed number of tokens, so where its KV blocks lie follows from its place in the prompt; what is
to be found is which requests share which leading keys. The keys of all requests stand in one column, each request's
without those that it has in common with the one before.
"""

from __future__ import annotations

from array import array
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simulator.keychain import KeyChain, sums_before
from simulator.keypaths import KeyPaths, PathsBuilder, SharedNodes
from simulator.keyrecords import RECORD, KeyRecords
from tokenclass.identity import salted
from tokenclass.tagged import BlockPrompt

I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]

_CHUNK = 1 << 18
"""Keys looked at together."""


class KeyColumn:
    """Collects the keys of requests."""

    def __init__(self, block_size: int) -> None:
        self._block_size = block_size
        self._records = KeyRecords()
        self._chain = KeyChain()
        self._counts = array("i")
        """Keys of each request that are written."""
        self._blocks_before = array("i")
        """KV blocks of each request before these, which are those of the request before."""
        self._chunks = [0]
        """Requests before each chunk."""
        self._left_out = array("i")
        """Of each request since, the leading keys that are not written."""
        self._keys = array("Q")
        self._tokens = array("q")
        self._prompt_tokens = array("q")
        self._widths = array("q")

    def __len__(self) -> int:
        """Requests so far."""
        return len(self._counts)

    def add(self, prompt: BlockPrompt, output_keys: U64 | None = None, output_tokens: int = 0) -> None:
        """Add one request, and the keys of the blocks that its output fills; without keys nothing of it is shared."""
        keys, width = b"", prompt.block_tokens or 1
        known = output_keys is not None and output_keys.size
        if prompt.block_tokens is not None:
            keys = prompt.block_keys.astype(np.uint64, copy=False).tobytes()
            if output_keys is not None:
                keys += output_keys.tobytes()
        tokens = prompt.tokens + (output_tokens if known else 0)
        left_out = self._chain.common(keys, width, tokens)
        before = len(self._keys)
        self._keys.frombytes(keys[left_out * self._keys.itemsize :])
        self._counts.append(len(self._keys) - before)
        self._left_out.append(left_out)
        self._blocks_before.append(left_out * width // self._block_size)
        self._tokens.append(tokens)
        self._prompt_tokens.append(prompt.tokens)
        self._widths.append(width)
        if len(self._keys) >= _CHUNK or len(self._tokens) >= _CHUNK:
            self._end_chunk()

    def add_without(self, prompt_tokens: I64) -> None:
        """Add requests without keys."""
        for column in (self._tokens, self._prompt_tokens):
            column.frombytes(prompt_tokens.tobytes())
        self._widths.frombytes(np.ones(prompt_tokens.size, np.int64).tobytes())
        for column in (self._counts, self._left_out, self._blocks_before):
            column.frombytes(np.zeros(prompt_tokens.size, np.int32).tobytes())
        self._chain.end()
        if len(self._tokens) >= _CHUNK:
            self._end_chunk()

    def build(self, *, every_prompt_twice: bool = False) -> KeyPaths:
        """The paths of all requests, identities numbered as they are first met; nothing can be added after it."""
        self._end_chunk()
        nodes = SharedNodes(every_prompt_twice)
        self._records.look(nodes.share)
        paths = PathsBuilder(nodes.count, self._records.size)
        counts, before = (
            np.frombuffer(column, np.int32) if column else np.empty(0, np.int32)
            for column in (self._counts, self._blocks_before)
        )
        for (first, last), records in zip(pairwise(self._chunks), self._records.chunks(), strict=True):
            paths.add(records, counts[first:last], before[first:last])
        self._records.close()
        return paths.build()

    def _end_chunk(self) -> None:
        """Write down the keys since the last chunk."""
        first, last = self._chunks[-1], len(self._counts)
        if first == last:
            return
        self._chunks.append(last)
        self._chain.end()
        counts, left_out = (np.array(column, np.int64) for column in (self._counts[first:last], self._left_out))
        starts = np.cumsum(counts) - counts
        nth = np.arange(len(self._keys)) - np.repeat(starts, counts)
        widths = np.repeat(np.array(self._widths, np.int64), counts)
        keys = _Keys(starts, counts, left_out, nth + np.repeat(left_out, counts), widths)
        records = np.empty(nth.size, RECORD)
        records["node"] = _nodes(np.array(self._keys, np.uint64), keys)
        records["covered"] = self._covered(keys, self._tokens)
        met_again = nth < np.repeat(np.append(left_out[1:], 0) - left_out, counts)
        records["most"] = np.where(met_again, ~records["covered"], self._covered(keys, self._prompt_tokens))
        records["place"] = np.arange(nth.size)
        self._records.append(records)
        for column in (self._keys, self._tokens, self._prompt_tokens, self._widths, self._left_out):
            del column[:]

    def _covered(self, keys: _Keys, tokens: array[int]) -> I64:
        """KV blocks that each key covers of requests of *tokens* tokens."""
        limits = np.repeat(np.array(tokens, np.int64) // self._block_size, keys.counts)
        before = keys.places * keys.widths // self._block_size
        after = np.minimum((keys.places + 1) * keys.widths // self._block_size, limits)
        covered: I64 = np.maximum(after - before, 0)
        return covered


class _Keys(NamedTuple):
    """Where the written keys of some requests stand."""

    starts: I64
    """Of each request, where its keys begin."""
    counts: I64
    """Keys of each request."""
    left_out: I64
    """Keys of each request before these."""
    places: I64
    """Of each key, its number within the request."""
    widths: I64
    """Of each key, the tokens it stands for."""


def _nodes(words: U64, keys: _Keys) -> U64:
    """Identity of each key together with all before it: a hash of the sum of their hashes, which know their places."""
    salt = salted(keys.places.astype(np.uint64), keys.widths.astype(np.uint64))
    sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(salted(words, salt), dtype=np.uint64)))
    before = sums_before(sums, keys.starts, keys.left_out) - sums[keys.starts]
    return salted(sums[1:] + np.repeat(before, keys.counts), salt)
