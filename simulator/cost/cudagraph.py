"""CUDA graphs run for fixed token counts: a step between two of them computes the larger one."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

import numpy as np
import numpy.typing as npt

from simulator.cost.model import Number

CAPTURE_SIZES: tuple[int, ...] = (1, 2, 4, *range(8, 256, 8), *range(256, 513, 16))
"""vLLM's default token counts of captured graphs; a step with more runs without a graph."""
_SIZES = np.array(CAPTURE_SIZES)


def padded_tokens(tokens: Number) -> Number:
    """Tokens that a step of *tokens* computes under a captured graph; beyond the largest graph, its own."""
    if isinstance(tokens, np.ndarray):
        index = np.minimum(np.searchsorted(_SIZES, tokens), len(_SIZES) - 1)
        padded: npt.NDArray[Any] = np.maximum(_SIZES[index], tokens)
        return padded
    index_of = bisect_left(CAPTURE_SIZES, tokens)
    return CAPTURE_SIZES[index_of] if index_of < len(CAPTURE_SIZES) else tokens
