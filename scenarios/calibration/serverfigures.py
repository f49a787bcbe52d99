"""Acceptance as one server reports it, with its intervals, and where two servers contradict each other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import sqrt

import msgspec
import numpy as np

from scenarios.answer import Interval
from scenarios.server.run import ServerRun
from simulator.intervals import Z_95, clustered_ratio, wilson

SIGNIFICANT_Z = 3.0
"""Standard errors between two sources beyond which they are said to contradict each other."""


class Depth(msgspec.Struct, frozen=True, kw_only=True):
    """Acceptance of one draft position in one source."""

    position: int
    per_position: float
    per_depth: Interval
    n: int
    """Rounds that accepted all drafts before it."""


class SourceFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One source of acceptance."""

    source: str
    gamma: int
    rounds: int
    draft_acceptance_rate: float | None
    acceptance_length: Interval
    depths: list[Depth]


def source_figures(run: ServerRun) -> SourceFigures:
    """The figures of *run*. Raises ValueError for counts that contradict each other, or without positions."""
    if not run.accepted_per_pos:
        raise ValueError(f"{run.source} has rounds but no per-position counts: take them from vLLM's metrics or log")
    before = (run.num_drafts, *run.accepted_per_pos)
    if any(later > earlier * (1 + 1e-9) for earlier, later in pairwise(before)):
        raise ValueError(f"{run.source}: accepted drafts per position {run.accepted_per_pos} rise: they must fall")
    total = sum(run.accepted_per_pos)
    if abs(total - run.num_accepted_tokens) > 0.02 * max(total, run.num_accepted_tokens):
        raise ValueError(
            f"{run.source}: per-position counts add up to {total:.0f} accepted drafts, the counter says "
            f"{run.num_accepted_tokens:.0f}: take both from one scrape"
        )
    depths = [
        Depth(
            position=position,
            per_position=run.accepted_per_pos[position - 1] / run.num_drafts,
            per_depth=_rate(run, position, reached, right),
            n=round(reached),
        )
        for position, (reached, right) in enumerate(pairwise(before), start=1)
    ]
    return SourceFigures(
        source=run.source,
        gamma=run.gamma,
        rounds=round(run.num_drafts),
        draft_acceptance_rate=run.num_accepted_tokens / run.num_draft_tokens if run.num_draft_tokens else None,
        acceptance_length=_length(run),
        depths=depths,
    )


def _rate(run: ServerRun, position: int, reached: float, right: float) -> Interval:
    """Acceptance of draft number *position*, those before accepted, with its interval."""
    if not reached:
        return Interval(0.0, 0.0, 1.0)
    value = right / reached
    if len(run.requests) > 1:
        pairs = [
            (
                one.num_drafts if position == 1 else one.accepted_per_pos[position - 2],
                one.accepted_per_pos[position - 1],
            )
            for one in run.requests
        ]
        half = Z_95 * _ratio_error([a for a, _ in pairs], [b for _, b in pairs])
        return Interval(value, max(0.0, value - half), min(1.0, value + half))
    low, high = wilson(value, reached)
    return Interval(value, low, high)


def _length(run: ServerRun) -> Interval:
    value = run.acceptance_length
    if len(run.requests) > 1:
        error = _ratio_error(
            [one.num_drafts for one in run.requests], [one.num_accepted_tokens for one in run.requests]
        )
    else:
        error = sqrt(_accepted_variance(run) / run.num_drafts)
    return Interval(value, max(1.0, value - Z_95 * error), min(run.gamma + 1.0, value + Z_95 * error))


def _accepted_variance(run: ServerRun) -> float:
    """Variance of accepted drafts per round, from the per-position counts."""
    mean = run.acceptance_length - 1
    second = sum((2 * depth - 1) * share for depth, share in enumerate(run.survival, start=1))
    return max(0.0, second - mean**2)


def _ratio_error(weights: Sequence[float], values: Sequence[float]) -> float:
    """Standard error of sum(values) / sum(weights) when pairs are drawn independently."""
    w, v = np.array(weights, dtype=np.float64), np.array(values, dtype=np.float64)
    return clustered_ratio(v, w)[1] if w.any() else 0.0


def contradictions(figures: Sequence[SourceFigures]) -> list[str]:
    """Pairs of sources that differ at a depth by more than chance allows."""
    found = []
    for at, one in enumerate(figures):
        for other in figures[at + 1 :]:
            for a, b in zip(one.depths, other.depths, strict=False):
                error = sqrt(_width(a.per_depth) ** 2 + _width(b.per_depth) ** 2) / (2 * Z_95)
                gap = abs(a.per_depth.value - b.per_depth.value)
                if min(a.n, b.n) and gap > SIGNIFICANT_Z * max(error, 1e-9):
                    found.append(
                        f"draft {a.position}: {one.source} accepts {a.per_depth.value:.3f} (n {a.n:,}), {other.source} "
                        f"{b.per_depth.value:.3f} (n {b.n:,}): other traffic, pair or temperature; they are not pooled"
                    )
                    break
    return found


def _width(interval: Interval) -> float:
    return interval.high - interval.low
