"""Verification-gated resampling: how often each turn is drawn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from simulator import rng
from simulator.lazypaths import ChosenPaths
from simulator.longcolumns import gathered
from simulator.prefix import BlockPaths
from simulator.workload import Workload, turn_names


def resample(workload: Workload, nu: float, seed: int) -> Workload:
    """A workload whose turns are drawn a geometric number of times with mean *nu*, the last draw accepted.

    Each draw repeats the accepted recorded output; recorded rejected attempts are left out. Raises ValueError for
    *nu* below 1.
    """
    if nu < 1:
        raise ValueError(f"--nu is {nu}; it must be at least 1: expected draws per accepted turn")
    keys = np.array([rng.key(seed, *names, "draws") for names in turn_names(workload)], dtype=np.uint64)
    unit = rng.uniform(keys, np.zeros(1, dtype=np.uint64))
    draws = np.ones(workload.n_turns, dtype=np.int64)
    if nu > 1:
        draws += np.floor(np.log1p(-unit) / np.log1p(-1.0 / nu)).astype(np.int64)
    return repeated(workload, draws)


def repeated(workload: Workload, draws: npt.NDArray[np.int64]) -> Workload:
    """*workload* with the accepted output of each turn drawn ``draws[turn]`` >= 1 times, the last draw accepted."""
    final = workload.turn_attempts[1:] - 1
    chosen = np.repeat(final, draws)
    bounds = np.concatenate([[0], np.cumsum(draws)])
    rejected = np.ones(chosen.size, dtype=np.bool_)
    rejected[bounds[1:] - 1] = False
    labels, offsets = gathered(workload.labels, workload.offsets[chosen], workload.output_tokens[chosen])
    return replace(
        workload,
        turn_attempts=bounds,
        attempt_rejected=rejected,
        labels=labels,
        offsets=offsets,
        paths=BlockPaths(ChosenPaths(workload.paths.paths, chosen), workload.paths.num_identities),
    )
