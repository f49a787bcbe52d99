"""The verdict: does it pay, how sure is that, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from scenarios.answer import Interval, Verdict
from scenarios.law.curve import MAX_GAMMA, Curve, resampled_with
from simulator import rng
from simulator.metrics import paid_s
from simulator.replay import Replay
from simulator.workload import Workload

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]

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
    owner, both = resampled_with(workload), speculative.done & baseline.done
    net, decode = _paired_savings(
        [
            _by_owner(owner, both, paid_s(speculative, workload), paid_s(baseline, workload), relative_price),
            _by_owner(owner, both, speculative.by_step.decode_gpu_s, baseline.by_step.decode_gpu_s, relative_price),
        ],
        seed,
    )
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
    both = speculative.done & baseline.done
    ours_s, theirs_s = paid_s(speculative, workload), paid_s(baseline, workload)
    (interval,) = _paired_savings([_by_owner(resampled_with(workload), both, ours_s, theirs_s, relative_price)], seed)
    return interval


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


def _by_owner(owner: I64, both: Bool, ours: F64, theirs: F64, relative_price: float) -> tuple[F64, F64]:
    """Sums of *ours* at *relative_price* and of *theirs* by *owner*, over the attempts that *both* finished."""
    ours_s, theirs_s = np.bincount(owner, ours * both * relative_price), np.bincount(owner, theirs * both)
    return ours_s.astype(np.float64, copy=False), theirs_s.astype(np.float64, copy=False)


def _paired_savings(pairs: Sequence[tuple[F64, F64]], seed: int) -> list[Interval]:
    """For each of *pairs*, sums by what is resampled, the saving 1 - ours/theirs with its bootstrap interval.

    All are resampled alike.
    """
    size = max(1, pairs[0][0].size)
    pairs = [(a, b) if a.size else (np.zeros(1), np.zeros(1)) for a, b in pairs]
    generator = rng.generator(seed, "bootstrap", "saving")
    draws: list[list[float]] = [[] for _ in pairs]
    for _ in range(BOOTSTRAP_DRAWS):
        pick = generator.integers(0, size, size)
        for (a, b), drawn in zip(pairs, draws, strict=True):
            total = b[pick].sum()
            drawn.append(1 - a[pick].sum() / total if total else 0.0)
    tail = 100 * (1 - CONFIDENCE) / 2
    found = []
    for (a, b), drawn in zip(pairs, draws, strict=True):
        value = 1 - float(a.sum()) / float(b.sum()) if b.sum() else 0.0
        low, high = np.percentile(drawn, [tail, 100 - tail])
        found.append(Interval(value, float(low), float(high)))
    return found
