"""What the prefix cache saved: the prefill of cached tokens as the cost model prices it on an idle replica."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simulator.cost import CostModel, PrefillWork
from simulator.replay import Replay


def cache_saved_s(replay: Replay) -> npt.NDArray[np.float64]:
    """Seconds of prefill, the draft model's included, that each attempt's cached tokens saved; 0 without a hit.

    Formula: T(0, prompt) - T(cached, prompt), with T(a, b) the steps of at most max_num_batched_tokens tokens that
    an otherwise idle replica takes to prefill the tokens from a to b.
    """
    budget = replay.config.engine.max_num_batched_tokens
    saved = np.zeros(replay.hit_tokens.size)
    full: dict[tuple[int, int], float] = {}
    for attempt in np.flatnonzero((replay.hit_tokens > 0) & replay.done).tolist():
        prompt, cached = int(replay.prompt_tokens[attempt]), int(replay.hit_tokens[attempt])
        whole, rest = (_prefill_s(replay.config.cost, start, prompt, budget, full) for start in (0, cached))
        saved[attempt] = whole - rest
    return saved


def _prefill_s(cost: CostModel, start: int, end: int, budget: int, full: dict[tuple[int, int], float]) -> float:
    """Seconds to prefill the tokens from *start* to *end*; *full* remembers steps that do not end a prompt."""
    total = 0.0
    while end - start > budget:
        if (start, budget) not in full:
            full[start, budget] = _step_s(cost, start, budget, last=False)
        total += full[start, budget]
        start += budget
    return total + _step_s(cost, start, end - start, last=True)


def _step_s(cost: CostModel, before: int, chunk: int, *, last: bool) -> float:
    pairs = chunk * before + chunk * (chunk + 1) // 2
    return cost.step(0, 0, 0, 0, PrefillWork(chunk, pairs, before, int(last))).total_s
