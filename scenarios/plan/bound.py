"""Where a search starts: replicas that the work alone asks for, and those at which a fluid of requests is fast enough.

Neither decides anything: what is answered has been replayed, and the next fewer too.
"""

from __future__ import annotations

import math

from scenarios.plan.probe import Idle
from scenarios.plan.targets import SESSION, TargetResult
from scenarios.resolve.platform import Platform
from simulator.cost import PrefillWork
from simulator.slo import SloMetric

_TAIL = 1.25
"""A high percentile of TPOT to its mean, about."""
_MOST_TIMES = 256
_ITERATIONS = 60
_PER_TOKEN = (SloMetric.TPOT, SloMetric.ITL)
_WHOLE = (SloMetric.E2EL, SESSION)


def least_gpu_s(idle: Idle, platform: Platform) -> float:
    """GPU seconds of a task when steps are full: the least that its work takes.

    Formula: rounds * decode(n) / n at n = max_num_seqs, and uncached prompt tokens at the time they add to a full
    step. Work is conserved: replicas that offer fewer seconds per second fall behind.
    """
    n = platform.engine.max_num_seqs
    return idle.rounds_per_task * _decode_s(idle, platform, n) / n + idle.fresh_tokens_per_task * _prefill_s(
        idle, platform
    )


def least_replicas(idle: Idle, platform: Platform, tasks_per_s: float) -> int:
    """Replicas below which the work of *tasks_per_s* does not fit; at least 1."""
    return max(1, math.ceil(least_gpu_s(idle, platform) * tasks_per_s))


def likely_replicas(idle: Idle, platform: Platform, tasks_per_s: float) -> int:
    """Replicas at which decoding of a steady flow is about as fast as the targets ask for."""
    alone_s = _decode_s(idle, platform, 1)
    most_s = min((_step_limit_s(one, alone_s) for one in idle.targets), default=math.inf)
    low = least_replicas(idle, platform, tasks_per_s)
    high = low * _MOST_TIMES
    while high > low:
        middle = (low + high) // 2
        fast = _flow_step_s(idle, platform, tasks_per_s / middle) <= most_s
        low, high = (low, middle) if fast else (middle + 1, high)
    return low


def _step_limit_s(target: TargetResult, alone_s: float) -> float:
    """How long a step may take, from a *target* with what it is on an idle replica, where a step takes *alone_s*."""
    metric = target.name.partition(" ")[0]
    if not target.value or metric not in (*_PER_TOKEN, *_WHOLE):
        return math.inf
    return alone_s * target.limit / target.value / (_TAIL if metric in _PER_TOKEN else 1.0)


def _flow_step_s(idle: Idle, platform: Platform, tasks_per_s: float) -> float:
    """Seconds of a step of one replica with a steady flow; infinite where it cannot keep up.

    By Little's law n = rounds per second * step(n), where prefill takes its share of the time from decode.
    """
    prefill = tasks_per_s * idle.fresh_tokens_per_task * _prefill_s(idle, platform)
    if prefill >= 1:
        return math.inf
    rounds_per_s = tasks_per_s * idle.rounds_per_task
    step_s = _decode_s(idle, platform, 1)
    for _ in range(_ITERATIONS):
        n = max(1.0, rounds_per_s * step_s)
        if n > platform.engine.max_num_seqs:
            return math.inf
        step_s = _decode_s(idle, platform, n) / (1 - prefill)
    return step_s


def _decode_s(idle: Idle, platform: Platform, n: float) -> float:
    depth = platform.engine.num_speculative_tokens
    return float(platform.cost.decode_s(n, n * depth, n * idle.context_tokens, depth))


def _prefill_s(idle: Idle, platform: Platform) -> float:
    """What a prompt token adds to a full step."""
    engine = platform.engine
    n, depth, budget = engine.max_num_seqs, engine.num_speculative_tokens, engine.max_num_batched_tokens
    full = platform.cost.step(n, n * depth, round(n * idle.context_tokens), depth, PrefillWork(budget, budget, 0, 1))
    return (full.prefill_s + full.draft_prefill_s) / budget
