"""How the draws of a turn follow each other when a gate judges them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DrawPlan:
    """What a gate adds to a workload of repeated draws. Arrays have an entry an attempt unless said otherwise."""

    extra_prompt_tokens: npt.NDArray[np.int64]
    """Tokens that the prompt has beyond the turn's: earlier draws with their errors."""
    given_up: npt.NDArray[np.bool_]
    """Per turn, whether no draw passed before the gate gave up."""
    parallel: bool = False
    """Whether all draws of a turn are sent at once; the turn is over when the last one ends."""
    ends_sessions: bool = False
    """Whether a turn given up ends its session."""
    gate_s: F64
    """Seconds from the end of a draw to its verdict."""
    gate_gpu_s: F64
    """GPU seconds that the verdict costs, beside the engine's."""
    rejected_by: npt.NDArray[np.int64]
    """Number of the check that rejected the draw, in the order of gateconfig.Check; -1: it passed."""
