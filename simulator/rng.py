"""Random numbers by key and counter: no stream, so no order of drawing can change a result.

Each draw is a hash of (key, counter); a key names the seed, session, turn, attempt and purpose of a draw.
The mixing function is the finaliser of SplitMix64 (Steele, Lea and Flood 2014), applied to both words.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import xxhash

from tokenclass.identity import salted

_UNIT = 2.0**-53

U64 = npt.NDArray[np.uint64]
F64 = npt.NDArray[np.float64]


def key(seed: int, *names: str | int) -> int:
    """A 64-bit key of *names* under *seed*; equal arguments give equal keys on every machine."""
    text = "\x1f".join(str(name) for name in names)
    return xxhash.xxh3_64_intdigest(text.encode(), seed=seed & 0xFFFFFFFFFFFFFFFF)


def uniform(keys: U64, counters: U64) -> F64:
    """Uniform numbers in [0, 1), one for each (key, counter) pair; the arguments broadcast."""
    return (salted(keys, counters + np.uint64(1)) >> np.uint64(11)).astype(np.float64) * _UNIT


def generator(seed: int, *names: str | int) -> np.random.Generator:
    """A NumPy generator keyed by *names*, for draws from named distributions."""
    return np.random.Generator(np.random.Philox(key=key(seed, *names)))
