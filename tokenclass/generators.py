"""Many random generators at once: those that `identity.generator` makes, without the time that seeding each takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random.bit_generator import ISeedSequence
from numpy.typing import NDArray

from tokenclass.identity import U64, identity64

U32 = NDArray[np.uint32]

# Constants of numpy.random.SeedSequence, which numpy keeps as they are (NEP 19); O'Neill's seed_seq_fe.
_POOL = 4
_INIT_A, _MULT_A = 0x43B0D7E5, 0x931E8875
_INIT_B, _MULT_B = 0x8B51F9DD, 0x58F38DED
_MIX_LEFT, _MIX_RIGHT = np.uint32(0xCA01F9DD), np.uint32(0x4973F715)
_SHIFT = np.uint32(16)
_WORD = 2**32


def generators(seed: int, identities: Sequence[str]) -> list[np.random.Generator]:
    """What `identity.generator` gives for *seed* and each of *identities*."""
    words = seed_words(np.array([identity64(str(seed), one) for one in identities], np.uint64))
    return [np.random.Generator(np.random.PCG64(_Seeded(row))) for row in words]  # type: ignore[arg-type]


def seed_words(seeds: U64) -> U64:
    """The words that numpy's SeedSequence makes of each of *seeds* for PCG64; shape (seeds, 4)."""
    scramble = _Scramble(_INIT_A, _MULT_A)
    halves = [seeds.astype(np.uint32), (seeds >> np.uint64(32)).astype(np.uint32)]
    none = np.zeros(seeds.size, np.uint32)
    pool = [scramble(entropy) for entropy in (*halves, none, none)]
    for source in range(_POOL):
        for target in range(_POOL):
            if source != target:
                pool[target] = _mixed(pool[target], scramble(pool[source]))
    scramble = _Scramble(_INIT_B, _MULT_B)
    words = [scramble(pool[at % _POOL]).astype(np.uint64) for at in range(2 * _POOL)]
    return np.stack([low | high << np.uint64(32) for low, high in zip(words[::2], words[1::2], strict=True)], axis=1)


class _Scramble:
    """A hash of 32-bit words, another one at each call."""

    def __init__(self, constant: int, factor: int) -> None:
        self._constant, self._factor = constant, factor

    def __call__(self, words: U32) -> U32:
        found = words ^ np.uint32(self._constant)
        self._constant = self._constant * self._factor % _WORD
        found *= np.uint32(self._constant)
        found ^= found >> _SHIFT
        return found


def _mixed(left: U32, right: U32) -> U32:
    found = left * _MIX_LEFT - right * _MIX_RIGHT
    found ^= found >> _SHIFT
    return found


class _Seeded(ISeedSequence):
    """A seed sequence whose words are known already."""

    def __init__(self, words: U64) -> None:
        self._words = words

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> U64:  # noqa: ARG002  numpy's own interface
        """The words, of which PCG64 asks for all."""
        return self._words
