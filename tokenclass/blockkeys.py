"""Identities of recorded prefix blocks as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain

import numpy as np
from numpy.typing import NDArray

from tokenclass.identity import identity64, salted
from tokenclass.tagged import BlockPrompt
from traces.idrun import IdRun
from traces.model import LengthPrompt

U64 = NDArray[np.uint64]

_NO_KEYS = np.empty(0, np.uint64)
_WORDS = 2**64
_AHEAD = 2
"""So many times the keys asked for are found at once of ids that count up: the next prompt most often has more."""


def block_keys(block_ids: Sequence[int | str] | IdRun, block_tokens: int | None) -> U64:
    """Identity of recorded prefix blocks as numbers; shape (ids,)."""
    if not len(block_ids):
        return _NO_KEYS
    width = np.uint64(block_tokens or 0)
    words = _whole(block_ids)
    if words is not None:
        return salted(words, np.array([width]))
    whole = [type(item) is int and 0 <= item < _WORDS for item in block_ids]
    mixed = [
        item if number else identity64(type(item).__name__, str(item))
        for item, number in zip(block_ids, whole, strict=True)
    ]
    return salted(np.array(mixed, np.uint64), np.where(whole, width, ~width))


class PromptKeys:
    """The keys of the blocks of one session's prompts; prompts of ids that count up from one have theirs in common."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int | None], U64] = {}

    def prompt(self, prompt: LengthPrompt) -> BlockPrompt:
        """A prompt known by its length in numbers."""
        return BlockPrompt(prompt.tokens, prompt.block_tokens, self.of(prompt.block_ids, prompt.block_tokens))

    def of(self, block_ids: Sequence[int | str] | IdRun, block_tokens: int | None) -> U64:
        """As `block_keys`; read-only."""
        if not isinstance(block_ids, IdRun) or not 0 <= block_ids.first < _WORDS // 2:
            return block_keys(block_ids, block_tokens)
        start, count = (block_ids.first, block_tokens), block_ids.count
        known = self._known.get(start, _NO_KEYS)
        if known.size < count:
            known = self._known[start] = block_keys(IdRun(block_ids.first, _AHEAD * count), block_tokens)
            known.flags.writeable = False
        return known[:count]


def block_prompts(prompts: Sequence[LengthPrompt]) -> list[BlockPrompt]:
    """Prompts known by their lengths in numbers; as `PromptKeys.prompt`, the keys of many prompts at once."""
    known = PromptKeys()
    listed = [() if isinstance(prompt.block_ids, IdRun) else prompt.block_ids for prompt in prompts]
    words = _whole(list(chain.from_iterable(listed)))
    if words is None:
        return [known.prompt(prompt) for prompt in prompts]
    counts = [len(ids) for ids in listed]
    widths = np.array([prompt.block_tokens or 0 for prompt in prompts], np.uint64)
    keys = salted(words, np.repeat(widths, counts))
    keys.flags.writeable = False
    ends = accumulate(counts)
    return [
        BlockPrompt(prompt.tokens, prompt.block_tokens, keys[end - count : end]) if count else known.prompt(prompt)
        for prompt, count, end in zip(prompts, counts, ends, strict=True)
    ]


def _whole(block_ids: Sequence[int | str] | IdRun) -> U64 | None:
    """The ids where all are whole numbers of 64 bits."""
    if isinstance(block_ids, IdRun):
        last = block_ids.first + block_ids.count - 1
        fits = block_ids.first >= 0 and last < _WORDS
        return np.arange(block_ids.first, last + 1, dtype=np.uint64) if fits else None
    if set(map(type, block_ids)) != {int}:
        return None
    try:
        return np.array(block_ids, np.uint64)
    except OverflowError:
        return None
