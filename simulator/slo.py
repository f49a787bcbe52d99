"""What latency objectives and targets can be set for: a word each, and the figure of a request that it means."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    F64 = npt.NDArray[np.float64]
    Column = Callable[[str], F64]
    """Gives a figure of all attempts by its name in turns.parquet (docs/metrics.md): times in seconds, NaN without."""


class SloMetric(StrEnum):
    """What a latency objective can be set for. ITL of a request is the mean gap between its chunks."""

    TTFT = "ttft"
    TPOT = "tpot"
    ITL = "itl"
    E2EL = "e2el"


VALUES: dict[SloMetric, Callable[[Column], F64]] = {
    SloMetric.TTFT: lambda of: of("ttft_s"),
    SloMetric.TPOT: lambda of: of("tpot_s"),
    SloMetric.ITL: lambda of: of("itl_per_step_s"),
    SloMetric.E2EL: lambda of: of("e2el_s"),
}
"""What each objective looks at, in seconds; NaN where a request has no such figure."""
