"""The verdict: does it pay, how sure is that, and what to do next."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from scenarios.answer import Interval, Verdict
from scenarios.law.curve import MAX_GAMMA, Curve
from simulator import rng
from simulator.metrics import paid_s
from simulator.replay import Replay
from simulator.workload import Workload

F64 = npt.NDArray[np.float64]

BOOTSTRAP_DRAWS = 2000
CONFIDENCE = 0.95


def judge(
    workload: Workload,
    speculative: Replay,
    baseline: Replay,
    curve: Curve,
    gamma: int,
    seed: int,
    *,
    measured: bool,
    tree: bool,
    relative_price: float,
) -> Verdict:
    """The verdict on speculation at *gamma* from two replays of one seed and the depth curve.

    *measured*: acceptance is known, and the spread is that between sessions. *tree*: the drafts of a round form one, of
    *gamma* nodes. *relative_price* as in `net_interval`.
    """
    both = (speculative.done & baseline.done).astype(np.float64)
    net = net_interval(workload, speculative, baseline, seed, relative_price)
    decode_s = speculative.by_step.decode_gpu_s * both * relative_price
    decode = _paired_saving(workload, decode_s, baseline.by_step.decode_gpu_s * both, seed)
    usual = [point for point in curve.points if point.gamma <= MAX_GAMMA]
    best = max(usual or curve.points, key=lambda point: point.net_saving)
    here = curve.own
    pays = None if net.low <= 0 <= net.high else net.value > 0
    holds = (here.net_saving_low > 0) == (here.net_saving_high > 0)
    best_gamma = best.gamma if best.net_saving > 0 else 0
    return Verdict(
        pays=pays,
        gamma=gamma,
        net_saving=net,
        decode_saving=decode,
        best_gamma=best_gamma,
        best_gamma_saving=best.net_saving if best_gamma else 0.0,
        spread=Interval(here.net_saving, here.net_saving_low, here.net_saving_high),
        spread_of="measured acceptance between sessions (95 %)" if measured else "the acceptance profile",
        holds_across_spread=holds,
        advice=_advice(best_gamma, gamma, holds=holds, measured=measured, tree=tree),
    )


def net_interval(
    workload: Workload, speculative: Replay, baseline: Replay, seed: int, relative_price: float
) -> Interval:
    """Net saving of C_total with its interval, over the attempts that both replays finished.

    *relative_price* is that of a replica's second with speculation to one without: above 1 where the draft has a GPU
    of its own.
    """
    both = (speculative.done & baseline.done).astype(np.float64)
    ours_s = paid_s(speculative, workload) * both * relative_price
    return _paired_saving(workload, ours_s, paid_s(baseline, workload) * both, seed)


def _advice(best_gamma: int, gamma: int, *, holds: bool, measured: bool, tree: bool) -> str:
    if not holds and measured:
        return "the answer changes sign between sessions: record more of them before you decide"
    if not holds:
        return (
            "the answer changes sign within the spread of published acceptance: measure acceptance by class on your "
            "own pair (vLLM's spec_decode counters over an hour of this traffic) before you decide"
        )
    if best_gamma == 0:
        return "leave speculation off for this traffic on this platform"
    if tree:
        return "keep the tree; simtool law --tree names its best size at given constants"
    if best_gamma != gamma:
        return f"try --gamma {best_gamma}"
    return f"keep gamma {gamma}"


def _paired_saving(workload: Workload, ours: F64, theirs: F64, seed: int) -> Interval:
    """Saving 1 - ours/theirs with its bootstrap interval over sessions (over turns, if there is one session)."""
    owner = workload.attempt_turn
    if workload.n_sessions > 1:
        owner = workload.turn_session[owner]
    size = int(owner.max()) + 1 if owner.size else 1
    a = np.bincount(owner, ours, size)
    b = np.bincount(owner, theirs, size)
    value = 1 - float(a.sum()) / float(b.sum()) if b.sum() else 0.0
    generator = rng.generator(seed, "bootstrap", "saving")
    draws = []
    for _ in range(BOOTSTRAP_DRAWS):
        pick = generator.integers(0, size, size)
        total = b[pick].sum()
        draws.append(1 - a[pick].sum() / total if total else 0.0)
    tail = 100 * (1 - CONFIDENCE) / 2
    low, high = np.percentile(draws, [tail, 100 - tail])
    return Interval(value, float(low), float(high))
