"""Confidence intervals."""

from __future__ import annotations

from math import sqrt

Z_95 = 1.959963984540054
"""Standard normal quantile of a two-sided 95 % interval."""


def wilson(share: float, count: float) -> tuple[float, float]:
    """95 % Wilson interval of a proportion *share* seen in *count* > 0 independent trials; it contains *share*."""
    z2 = Z_95**2
    centre = (share + z2 / (2 * count)) / (1 + z2 / count)
    half = Z_95 * sqrt(share * (1 - share) / count + z2 / (4 * count**2)) / (1 + z2 / count)
    return max(min(centre - half, share), 0.0), min(max(centre + half, share), 1.0)
