"""Identities of KV blocks: which requests could share which leading blocks.

A block's identity is that of all tokens up to its end, as in vLLM's chained block hashes. Prompts are walked piece by
piece (messages); the blocks that a piece completes are found once per distinct path of pieces and remembered, so a
long agent loop costs its distinct content, not the sum of its prompts. Prompts without text: see blockkeys.py.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import xxhash

from simulator.blockkeys import KeyColumn, MixedPaths
from simulator.kvcache import NO_BLOCKS, BlockIds
from tokenclass.tagged import BlockPrompt, SegmentPrompt, SegmentTable

U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]


class _Run(NamedTuple):
    """Blocks of one hidden content, which one token id stands for, however many pieces they come in."""

    origin: bytes
    """Hash of all blocks before them."""
    value: int
    blocks: int

    def digest(self) -> bytes:
        """Hash of all blocks up to the last of them."""
        return xxhash.xxh3_128_digest(self.origin + self.value.to_bytes(4, "big", signed=True) + b"%d" % self.blocks)


@dataclass(frozen=True, slots=True, eq=False)
class _Node:
    """The path of pieces up to some point: blocks that its last piece completed, and what is left over."""

    blocks: BlockIds
    parent_hash: bytes
    rest: I32
    run: _Run | None = None
    """The run of hidden blocks that the last one is of."""


@dataclass(frozen=True, slots=True, eq=False)
class BlockPaths:
    """For each attempt, the identities of its leading blocks that occur in another request too."""

    paths: Sequence[BlockIds]
    num_identities: int


class PrefixIndex:
    """Collects the block paths of all attempts of a workload, for one block size."""

    def __init__(self, block_size: int) -> None:
        self._block_size = block_size
        self._nodes: dict[tuple[int, int], int] = {}
        self._states = [_Node(NO_BLOCKS, b"", NO_BLOCKS)]
        self._runs: dict[tuple[bytes, int], I32] = {}
        """Identities of the blocks of each run, by its origin and value."""
        self._identities: dict[int, int] = {}
        self._count = 0
        self._paths: list[BlockIds] = []
        self._prompt_blocks: list[int] = []
        self._keyed = KeyColumn(block_size)
        self._order = array("q")
        """Of each attempt, its place among the paths, or the complement of its place among the keyed ones."""

    def add_prompt(self, prompt: SegmentPrompt, segments: SegmentTable, output: tuple[int, ...] | None) -> None:
        """Add one attempt: its prompt, and the segments under which its output may be repeated (None: never)."""
        self._order.append(len(self._paths))
        self._paths.append(self.blocks(prompt, segments, output))
        self._prompt_blocks.append(prompt.tokens // self._block_size)

    def add_keys(self, prompt: BlockPrompt, output_keys: U64 | None = None, output_tokens: int = 0) -> None:
        """Add one attempt under a prompt known by length: its prompt, and what its output fills (None: not known)."""
        self._order.append(~len(self._keyed))
        self._keyed.add(prompt, output_keys, output_tokens)

    def add_unshared(self, prompt_tokens: I64) -> None:
        """Add attempts under prompts of these lengths, of which nothing is known to be shared."""
        first = len(self._keyed)
        self._keyed.add_without(prompt_tokens)
        self._order.frombytes((~np.arange(first, len(self._keyed))).tobytes())

    def blocks(self, prompt: SegmentPrompt, segments: SegmentTable, output: tuple[int, ...] | None) -> BlockIds:
        """Identities of all full blocks of a prompt and an output, numbered as they are first met."""
        state = 0
        parts = []
        order = [*prompt.segments.tolist(), *(output or ())]
        keys = segments.keys
        for segment in order:
            state = self._step(state, int(keys[segment]), segments.ids[segment])
            parts.append(self._states[state].blocks)
        return np.concatenate(parts) if parts else NO_BLOCKS

    def build(self, *, every_prompt_twice: bool = False) -> BlockPaths:
        """The shared part of each path, with identities numbered from 0.

        *every_prompt_twice*: attempts may be drawn again, so all full prompt blocks can be reused.
        """
        uses = np.zeros(self._count, dtype=np.int32)
        for path in self._paths:
            uses[path] += 1
        if every_prompt_twice:
            for path, count in zip(self._paths, self._prompt_blocks, strict=True):
                uses[path[:count]] += 1
        shared = uses > 1
        number = np.cumsum(shared, dtype=np.int32) - 1
        paths = []
        for path in self._paths:
            unique = ~shared[path]
            length = int(unique.argmax()) if unique.any() else path.size
            paths.append(number[path[:length]])
        count = int(np.count_nonzero(shared))
        keyed = self._keyed.build(count, every_prompt_twice=every_prompt_twice)
        return BlockPaths(MixedPaths(self._order, paths, keyed), count + keyed.num_identities)

    def _step(self, state: int, key: int, ids: I32) -> int:
        """The state after the piece *key* with token *ids* follows *state*."""
        found = self._nodes.get((state, key))
        if found is not None:
            return found
        before = self._states[state]
        number = self._nodes[state, key] = len(self._states)
        self._states.append(self._hidden(before, ids) if ids.size and ids[0] < 0 else self._told(before, ids))
        return number

    def _told(self, before: _Node, ids: I32) -> _Node:
        """*before* and token *ids*, of which each block is hashed."""
        tokens = np.concatenate([before.rest, ids]) if before.rest.size else ids
        size = self._block_size
        count = tokens.size // size
        data = np.ascontiguousarray(tokens, dtype=np.int32).tobytes()
        blocks = np.empty(count, dtype=np.int32)
        digest, width = before.parent_hash, 4 * size
        for index in range(count):
            digest = xxhash.xxh3_128_digest(digest + data[index * width : (index + 1) * width])
            blocks[index] = self._identity(int.from_bytes(digest, "big"))
        return _Node(blocks, digest, tokens[count * size :], None if count else before.run)

    def _hidden(self, before: _Node, ids: I32) -> _Node:
        """*before* and hidden *ids*, which are all one number: their blocks are numbered without being hashed."""
        value, size = int(ids[0]), self._block_size
        if (before.rest != value).any():
            missing = size - before.rest.size
            if ids.size <= missing:
                return self._told(before, ids)
            first = self._told(before, ids[:missing])
            further = self._hidden(first, ids[missing:])
            return replace(further, blocks=np.concatenate([first.blocks, further.blocks]))
        count, left = divmod(before.rest.size + ids.size, size)
        rest = np.full(left, value, np.int32)
        if not count:
            return _Node(NO_BLOCKS, before.parent_hash, rest, before.run)
        run = before.run if before.run is not None and before.run.value == value else _Run(before.parent_hash, value, 0)
        longer = run._replace(blocks=run.blocks + count)
        return _Node(self._numbered(longer)[run.blocks :], longer.digest(), rest, longer)

    def _numbered(self, run: _Run) -> I32:
        """Identities of the blocks of *run*."""
        known = self._runs.get((run.origin, run.value), NO_BLOCKS)
        if known.size < run.blocks:
            new = np.arange(self._count, self._count + run.blocks - known.size, dtype=np.int32)
            self._count += new.size
            known = self._runs[run.origin, run.value] = np.concatenate([known, new])
        return known[: run.blocks]

    def _identity(self, digest: int) -> int:
        number = self._identities.setdefault(digest, self._count)
        if number == self._count:
            self._count += 1
        return number
