"""Small outputs with acceptance probabilities, for properties of rounds."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from simulator.acceptance.base import Outputs
from simulator.rng import key


def outputs_of(lengths: list[int], labels: np.ndarray | None = None, seed: int = 0) -> Outputs:
    """Outputs of the given lengths; labels cycle through the sub-classes unless given."""
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    flat = np.arange(offsets[-1]) % 8 if labels is None else labels
    keys = np.array([key(seed, attempt) for attempt in range(len(lengths))], dtype=np.uint64)
    return Outputs(flat.astype(np.uint8), offsets, keys)


LENGTHS = st.lists(st.integers(0, 12), min_size=1, max_size=5)
GAMMAS = st.integers(0, 6)
FIRSTS = st.integers(0, 2)
PROBABILITIES = st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0])
