"""How the draws of a turn follow each other when a gate judges them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DrawPlan:
    """What a gate adds to a workload of repeated draws."""

    extra_prompt_tokens: npt.NDArray[np.int64]
    """Per attempt, tokens that its prompt has beyond the turn's: earlier draws with their errors."""
    given_up: npt.NDArray[np.bool_]
    """Per turn, whether no draw passed before the gate gave up."""
    parallel: bool = False
    """Whether all draws of a turn are sent at once; the turn is over when the last one ends."""
    gate_s: float = 0.0
    """Seconds from the end of a draw to its verdict."""
