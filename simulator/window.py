"""The part of a replay that is measured: warm-up and drain cut."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simulator.replay import Replay
from simulator.workload import Workload

Bool = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """What is left out of percentiles and throughput. Raises ValueError on negative values."""

    warmup_s: float = 0.0
    """Requests that arrive in the first *warmup_s* seconds."""
    num_warmups: int = 0
    """The first *num_warmups* requests to arrive."""
    drain_s: float = 0.0
    """Requests that finish in the last *drain_s* seconds."""

    def __post_init__(self) -> None:
        for name in ("warmup_s", "num_warmups", "drain_s"):
            if getattr(self, name) < 0:
                raise ValueError(f"--{name.replace('_', '-')} is {getattr(self, name)}; it must not be negative")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Window:
    """Which attempts and sessions are measured, and over which time."""

    attempts: Bool
    sessions: Bool
    """Sessions all of whose attempts are measured."""
    duration_s: float
    """From the first arrival to the last finish of a measured attempt."""


def window(replay: Replay, workload: Workload, cut: Cut) -> Window:
    """The measured part of *replay*. Raises ValueError if nothing is left of it."""
    arrival_s, finish_s = replay.arrival_s, replay.finish_s
    kept = np.ones(arrival_s.size, dtype=np.bool_)
    if not kept.size:
        return Window(attempts=kept, sessions=np.zeros(workload.n_sessions, dtype=np.bool_), duration_s=0.0)
    if cut.warmup_s:
        kept &= arrival_s >= arrival_s.min() + cut.warmup_s
    if cut.num_warmups:
        kept[np.argsort(arrival_s, kind="stable")[: cut.num_warmups]] = False
    if cut.drain_s:
        kept &= finish_s <= finish_s.max() - cut.drain_s
    if not kept.any():
        raise ValueError(
            f"--warmup-s {cut.warmup_s:g}, --num-warmups {cut.num_warmups} and --drain-s {cut.drain_s:g} leave nothing "
            f"of {kept.size} requests in {replay.duration_s:.6g} s to measure"
        )
    session = workload.attempt_session
    sessions = np.bincount(session, ~kept, workload.n_sessions) == 0
    return Window(attempts=kept, sessions=sessions, duration_s=float(finish_s[kept].max() - arrival_s[kept].min()))
