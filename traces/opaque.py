"""Opaque blocks whose content is known by block ids, as one block an id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from traces.model import Block, OpaqueBlock


def by_id(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """*blocks*, those with block ids as a block for each, whose key is made of the id and its size."""
    if not any(isinstance(block, OpaqueBlock) and block.block_ids for block in blocks):
        return blocks
    return tuple(_by_id(blocks))


def _by_id(blocks: Iterable[Block]) -> Iterator[Block]:
    for block in blocks:
        if not isinstance(block, OpaqueBlock) or not block.block_ids:
            yield block
            continue
        size = block.block_tokens or block.tokens
        *whole, last = block.block_ids
        for value in whole:
            yield OpaqueBlock(size, block.label, f"{value}:{size}")
        rest = block.tokens - size * len(whole)
        yield OpaqueBlock(rest, block.label, f"{last}:{rest}")
