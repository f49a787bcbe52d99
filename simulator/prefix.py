"""Identities of KV blocks: which requests could share which leading blocks.

A block's identity is that of all tokens up to its end, as in vLLM's chained block hashes. Each request goes to one
column of block keys: recorded ones, or hashes of the tokens of its blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simulator.blockkeys import KeyColumn
from simulator.kvcache import BlockIds
from simulator.tokenblocks import TokenBlocks
from tokenclass.tagged import BlockPrompt, SegmentPrompt, SegmentTable

U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class BlockPaths:
    """For each attempt, the identities of its leading blocks that occur in another request too."""

    paths: Sequence[BlockIds]
    num_identities: int


class PrefixIndex:
    """Collects the block paths of all attempts of a workload, for one block size."""

    def __init__(self, block_size: int) -> None:
        self._block_size = block_size
        self._blocks = TokenBlocks(block_size)
        self._column = KeyColumn(block_size)

    def add_prompt(self, prompt: SegmentPrompt, segments: SegmentTable, output: tuple[int, ...] | None) -> None:
        """Add one attempt: its prompt, and the segments under which its output may be repeated (None: never)."""
        keys = self._blocks.keys(prompt, segments, output)
        self._column.add(BlockPrompt(prompt.tokens, self._block_size, keys.prompt), keys.output, keys.output_tokens)

    def add_keys(self, prompt: BlockPrompt, output_keys: U64 | None = None, output_tokens: int = 0) -> None:
        """Add one attempt under a prompt known by length: its prompt, and what its output fills (None: not known)."""
        self._column.add(prompt, output_keys, output_tokens)

    def add_unshared(self, prompt_tokens: I64) -> None:
        """Add attempts under prompts of these lengths, of which nothing is known to be shared."""
        self._column.add_without(prompt_tokens)

    def build(self, *, every_prompt_twice: bool = False) -> BlockPaths:
        """The shared part of each path, with identities numbered from 0 as they are first met; nothing comes after it.

        *every_prompt_twice*: attempts may be drawn again, so all full prompt blocks can be reused.
        """
        paths = self._column.build(every_prompt_twice=every_prompt_twice)
        return BlockPaths(paths, paths.num_identities)
