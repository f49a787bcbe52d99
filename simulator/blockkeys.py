"""Block paths of prompts that are known by the keys of their blocks, found for a whole workload at once.

A key stands for a fixed number of tokens, so where its KV blocks lie follows from its place in the prompt; what is
to be found is which requests share which leading keys. The keys of all requests stand in one column.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, overload

import numpy as np
import numpy.typing as npt

from simulator.kvcache import NO_BLOCKS, BlockIds
from tokenclass.identity import salted
from tokenclass.tagged import BlockPrompt

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]

_CHUNK = 1 << 20
"""Keys looked at together."""


@dataclass(frozen=True, slots=True, eq=False)
class KeyPaths:
    """A path for each request, as runs of consecutive identities; written out when it is asked for."""

    firsts: I32
    sizes: I32
    """First identity and length of each run."""
    bounds: I64
    """Request r has the runs ``bounds[r]:bounds[r + 1]``."""
    num_identities: int

    def path(self, request: int) -> BlockIds:
        """The identities of the request's leading blocks that occur in another request too."""
        first, last = self.bounds[request], self.bounds[request + 1]
        if first == last:
            return NO_BLOCKS
        sizes = self.sizes[first:last]
        ends = np.cumsum(sizes, dtype=np.int32)
        return np.repeat(self.firsts[first:last] - (ends - sizes), sizes) + np.arange(ends[-1], dtype=np.int32)


class KeyColumn:
    """Collects the keys of requests."""

    def __init__(self, block_size: int) -> None:
        self._block_size = block_size
        self._keys = array("Q")
        self._ends = array("q", [0])
        self._tokens = array("q")
        self._prompt_tokens = array("q")
        self._widths = array("q")

    def __len__(self) -> int:
        """Requests so far."""
        return len(self._tokens)

    def add(self, prompt: BlockPrompt, output_keys: U64 | None = None, output_tokens: int = 0) -> None:
        """Add one request, and the keys of the blocks that its output fills; without keys nothing of it is shared."""
        known = output_keys is not None and output_keys.size
        if prompt.block_tokens is not None:
            self._keys.frombytes(prompt.block_keys.astype(np.uint64, copy=False).tobytes())
            if output_keys is not None:
                self._keys.frombytes(output_keys.tobytes())
        self._ends.append(len(self._keys))
        self._tokens.append(prompt.tokens + (output_tokens if known else 0))
        self._prompt_tokens.append(prompt.tokens)
        self._widths.append(prompt.block_tokens or 1)

    def build(self, first_identity: int, *, every_prompt_twice: bool = False) -> KeyPaths:
        """The paths of all requests, identities numbered from *first_identity*; nothing can be added after it."""
        bounds = np.array(self._ends, np.int64)
        nodes = np.frombuffer(self._keys, np.uint64) if self._keys else np.empty(0, np.uint64)
        covered, again = np.empty(nodes.size, np.int32), np.zeros(nodes.size if every_prompt_twice else 0, np.int32)
        for first, last in _chunks(bounds):
            inside = slice(int(bounds[first]), int(bounds[last]))
            keys = self._chunk(bounds, first, last)
            nodes[inside] = _nodes(nodes[inside], keys)
            covered[inside] = self._covered(keys, self._tokens[first:last])
            if every_prompt_twice:
                again[inside] = self._covered(keys, self._prompt_tokens[first:last])
        firsts, shared, total = _shared(nodes, covered, again)
        for first, last in _chunks(bounds):
            inside = slice(int(bounds[first]), int(bounds[last]))
            part = shared[inside]
            part[_after_first(part < covered[inside], self._chunk(bounds, first, last).starts)] = 0
        kept = shared > 0
        ends = np.concatenate(([0], np.cumsum(kept)))[bounds]
        return KeyPaths(firsts[kept] + np.int32(first_identity), shared[kept], ends, total)

    def _chunk(self, bounds: I64, first: int, last: int) -> _Keys:
        counts = np.diff(bounds[first : last + 1])
        starts = np.repeat(bounds[first:last] - bounds[first], counts)
        widths = np.repeat(np.array(self._widths[first:last], np.int64), counts)
        return _Keys(starts, np.arange(starts.size) - starts, widths, counts)

    def _covered(self, keys: _Keys, tokens: array[int]) -> I64:
        """KV blocks that each key covers of requests of *tokens* tokens."""
        limits = np.repeat(np.array(tokens, np.int64) // self._block_size, keys.counts)
        before = keys.places * keys.widths // self._block_size
        after = np.minimum((keys.places + 1) * keys.widths // self._block_size, limits)
        covered: I64 = np.maximum(after - before, 0)
        return covered


class _Keys(NamedTuple):
    """Where the keys of some requests stand."""

    starts: I64
    """Of each key, where its request's begin."""
    places: I64
    """Its number within the request."""
    widths: I64
    """Tokens it stands for."""
    counts: I64
    """Keys of each request."""


def _chunks(bounds: I64) -> Iterator[tuple[int, int]]:
    """Ranges of requests with about _CHUNK keys each."""
    first, last = 0, bounds.size - 1
    while first < last:
        after = int(np.searchsorted(bounds, bounds[first] + _CHUNK, side="right")) - 1
        after = min(max(after, first + 1), last)
        yield first, after
        first = after


class MixedPaths(Sequence[BlockIds]):
    """The paths of all requests in order, written out or as runs."""

    def __init__(self, order: array[int], written: list[BlockIds], keyed: KeyPaths) -> None:
        self._order = order
        self._written = written
        self._keyed = keyed

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, index: int) -> BlockIds: ...
    @overload
    def __getitem__(self, index: slice) -> list[BlockIds]: ...
    def __getitem__(self, index: int | slice) -> BlockIds | list[BlockIds]:
        """The path of one request, or those of a slice of them."""
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        place = self._order[index]
        return self._written[place] if place >= 0 else self._keyed.path(~place)


def _nodes(words: U64, keys: _Keys) -> U64:
    """Identity of each key together with all before it: a hash of the sum of their hashes, which know their places."""
    salt = salted(keys.places.astype(np.uint64), keys.widths.astype(np.uint64))
    sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(salted(words, salt), dtype=np.uint64)))
    return salted(sums[1:] - sums[keys.starts], salt)


def _shared(nodes: U64, covered: I32, again: I32) -> tuple[I32, I32, int]:
    """For each key its first identity and how many of its blocks are shared; and the number of identities.

    Equal *nodes* name equal blocks, of which each request covers the first few, and *again* as many in further draws
    (empty: there are none). Nodes are looked at by their leading bits, a part at a time, which bounds the memory of
    sorting.
    """
    firsts = np.zeros(nodes.size, np.int32)
    shared = np.zeros(nodes.size, np.int32)
    total = 0
    bits = max(0, int(nodes.size / _CHUNK).bit_length())
    parts = (nodes >> np.uint64(64 - bits)).astype(np.uint16) if bits else np.zeros(nodes.size, np.uint16)
    for part in range(1 << bits):
        members = np.flatnonzero(parts == part)
        if not members.size:
            continue
        order = members[np.lexsort((-covered[members], nodes[members]))]
        ordered = nodes[order]
        starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
        sizes = np.diff(np.append(starts, ordered.size))
        most = np.where(sizes > 1, covered[order[np.minimum(starts + 1, order.size - 1)]], 0).astype(np.int64)
        if again.size:
            most = np.maximum(most, np.maximum.reduceat(again[order], starts))
        ends = total + np.cumsum(most)
        firsts[order] = np.repeat(ends - most, sizes)
        shared[order] = np.repeat(most, sizes)
        total = int(ends[-1])
    return firsts, np.minimum(shared, covered, out=shared), total


def _after_first(broken: npt.NDArray[np.bool_], starts: I64) -> npt.NDArray[np.bool_]:
    """Which entries come after the first *broken* one of their request, whose entries begin at *starts*."""
    seen = np.concatenate(([0], np.cumsum(broken)))
    return seen[:-1] > seen[starts]
