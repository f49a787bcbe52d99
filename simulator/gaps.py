"""The times between emissions, which a streaming client sees as the gaps between chunks.

An attempt emits with the step that ends its prefill (the first token), with each round, and with the step that ends
its recomputation after a preemption. A gap is as long as its step where the attempt also emitted in the step before,
which is nearly always: so gaps are kept as steps and as the runs of steps in which each attempt emitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simulator.longcolumns import PART, LongColumn, apart, let_go_all, zeros_of
from simulator.weighted import Weighted, joined

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]
Bool = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class ReplicaGaps:
    """The gaps on one replica, by runs of successive steps in which an attempt emitted, sorted by attempt and time."""

    attempt: I32
    first_step: I32
    n_steps: I32
    lead_s: F64
    """The gap that ends with the first step of each run."""
    end_s: F64
    """End of each step of the replica."""

    def of(self, attempts: Bool) -> Weighted:
        """Seconds of all gaps of the chosen *attempts*."""
        chosen = attempts[self.attempt]
        first, count = self.first_step[chosen], self.n_steps[chosen]
        starts, ends = np.sort(first + 1), np.sort(first + count)
        values, counts = LongColumn(np.float64), LongColumn(np.int32)
        lead_s = self.lead_s[chosen]
        values.append(lead_s)
        counts.append(np.ones(lead_s.size, dtype=np.int32))
        before = 0
        for low in range(0, self.end_s.size, PART):
            high = min(low + PART, self.end_s.size)
            changes = _counted(starts, low, high)
            changes -= _counted(ends, low, high)
            changes[0] += before
            emitting = np.cumsum(changes)
            before = int(emitting[-1])
            within = np.flatnonzero(emitting)
            values.append(self.end_s[low + within] - self.end_s[low + within - 1])
            counts.append(emitting[within])
            let_go_all()
        return Weighted(values.array(), counts.array())


@dataclass(frozen=True, slots=True, eq=False)
class Gaps:
    """All gaps of a replay; none ends with a first token."""

    replicas: tuple[ReplicaGaps, ...]
    counts: I64
    """Gaps of each attempt: its emissions without the first."""

    def of(self, attempts: Bool) -> Weighted:
        """Seconds of all gaps of the chosen *attempts*, given as one flag an attempt."""
        return joined([replica.of(attempts) for replica in self.replicas])


def find_gaps(logs: Sequence[tuple[F64, I64, I64]], first_token_s: F64) -> Gaps:
    """The gaps of a replay from the end times, segments and resumed prefills (attempt, step) of each replica.

    An attempt must emit on one replica only; segments are as SegmentLog.rows() has them.
    """
    counts = zeros_of(first_token_s.size, np.int64)
    replicas = []
    for end_s, segments, resumed in logs:
        attempt = np.concatenate([segments[:, 0].astype(np.int32), resumed[:, 0].astype(np.int32)])
        first = np.concatenate([segments[:, 1].astype(np.int32), resumed[:, 1].astype(np.int32)])
        n_steps = np.concatenate([segments[:, 3].astype(np.int32), np.ones(len(resumed), dtype=np.int32)])
        if len(resumed):
            order = np.lexsort((first, attempt))
            attempt, first, n_steps = attempt[order], first[order], n_steps[order]
            del order
        runs = (attempt, first, n_steps)
        lead_s = LongColumn(np.float64)
        for low in range(0, attempt.size, PART):
            lead_s.append(_leads_s(runs, slice(low, low + PART), end_s, first_token_s))
            mine = attempt[low : low + PART]
            counts[mine[0] : mine[-1] + 1] += np.bincount(mine - mine[0], n_steps[low : low + PART]).astype(np.int64)
            let_go_all()
        attempt, first, n_steps = map(apart, runs)
        replicas.append(ReplicaGaps(attempt, first, n_steps, lead_s.array(), end_s))
    return Gaps(tuple(replicas), counts)


def _leads_s(runs: tuple[I32, I32, I32], part: slice, end_s: F64, first_token_s: F64) -> F64:
    """The gap that ends with the first step of each of the *runs* of a *part*."""
    attempt, first, n_steps = (column[part] for column in runs)
    before_s = np.empty(attempt.size)
    before_s[1:] = end_s[(first + n_steps - 1)[:-1]]
    leads = np.concatenate([[True], attempt[1:] != attempt[:-1]])
    if part.start:
        earlier, its_first, its_steps = (column[part.start - 1] for column in runs)
        leads[0] = earlier != attempt[0]
        before_s[0] = end_s[its_first + its_steps - 1]
    before_s[leads] = first_token_s[attempt[leads]]
    return end_s[first] - before_s


def _counted(steps: I32, low: int, high: int) -> I64:
    """How many of *steps*, which ascend, are each step from *low* to *high*."""
    mine = steps[np.searchsorted(steps, low) : np.searchsorted(steps, high)]
    return np.bincount(mine - low, minlength=high - low)
