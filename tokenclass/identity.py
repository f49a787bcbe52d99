"""Identities as 64-bit numbers: the same on every run and every machine."""

from __future__ import annotations

import re
from hashlib import blake2b

import numpy as np
import xxhash
from numpy.typing import NDArray

U64 = NDArray[np.uint64]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_HASHED = re.compile(r"~[0-9a-f]{16}")


def identity64(*parts: str) -> int:
    """A hash of *parts*; where one part ends and the next begins counts."""
    return xxhash.xxh64_intdigest("\x1f".join(parts).encode("utf-8", "surrogatepass"))


def hashed_name(name: str, salt: bytes = b"") -> str:
    """What random draws know a session or turn by: a hash of *name*, or *name* itself where it is such a hash.

    So a recording whose names are replaced by their hashes draws the same. Who does not know the *salt*, of up to 64
    bytes, cannot tell by hashing it whether a name that he guesses is the one; salted names draw something else.
    """
    if _HASHED.fullmatch(name):
        return name
    return f"~{blake2b(name.encode('utf-8', 'surrogatepass'), digest_size=8, key=salt).hexdigest()}"


def generator(seed: int, *identity: str) -> np.random.Generator:
    """A random generator of its own for each *identity* under one seed, so that no order of drawing matters."""
    return np.random.Generator(np.random.PCG64(identity64(str(seed), *identity)))


def mix64(words: U64) -> U64:
    """A 64-bit hash of each word: the finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""
    words = (words ^ (words >> np.uint64(30))) * _MIX_1
    words = (words ^ (words >> np.uint64(27))) * _MIX_2
    return words ^ (words >> np.uint64(31))


def salted(words: U64, salt: U64) -> U64:
    """A 64-bit hash of each (word, salt) pair; the arguments broadcast."""
    with np.errstate(over="ignore"):
        return mix64(mix64(words + GOLDEN) + salt * GOLDEN)
