"""Confidence intervals."""

from __future__ import annotations

from math import inf, sqrt

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]

Z_95 = 1.959963984540054
"""Standard normal quantile of a two-sided 95 % interval."""


def wilson(share: float, count: float) -> tuple[float, float]:
    """95 % Wilson interval of a proportion *share* seen in *count* > 0 independent trials; it contains *share*."""
    z2 = Z_95**2
    centre = (share + z2 / (2 * count)) / (1 + z2 / count)
    half = Z_95 * sqrt(share * (1 - share) / count + z2 / (4 * count**2)) / (1 + z2 / count)
    return max(min(centre - half, share), 0.0), min(max(centre + half, share), 1.0)


def clustered_ratio(numerators: F64, denominators: F64) -> tuple[float, float]:
    """A ratio of sums over clusters and its standard error, whatever goes on within a cluster.

    Formula (linearised): with r = sum a / sum b over k clusters, error^2 = k / (k - 1) sum (a - r b)^2 / (sum b)^2.
    Infinite for one cluster; sum b must be above 0.
    """
    total = float(denominators.sum())
    ratio = float(numerators.sum()) / total
    count = denominators.size
    if count < 2:
        return ratio, inf
    rest = numerators - ratio * denominators
    return ratio, sqrt(count / (count - 1) * float((rest**2).sum())) / total
