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

from simulator.longcolumns import let_go
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
        size = self.end_s.size + 1
        emitting = np.cumsum(np.bincount(first + 1, minlength=size) - np.bincount(first + count, minlength=size))
        within = np.flatnonzero(emitting[:-1])
        lead_s = self.lead_s[chosen]
        values = np.concatenate([lead_s, self.end_s[within] - self.end_s[within - 1]])
        let_go(self.end_s)
        return Weighted(values, np.concatenate([np.ones(lead_s.size, dtype=np.int64), emitting[within]]))


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
    counts = np.zeros(first_token_s.size, dtype=np.int64)
    replicas = []
    for end_s, segments, resumed in logs:
        attempt = np.concatenate([segments[:, 0], resumed[:, 0]])
        first = np.concatenate([segments[:, 1], resumed[:, 1]])
        n_steps = np.concatenate([segments[:, 3], np.ones(len(resumed), dtype=np.int64)])
        if len(resumed):
            order = np.lexsort((first, attempt))
            attempt, first, n_steps = attempt[order], first[order], n_steps[order]
        before_s = np.empty(attempt.size)
        before_s[1:] = end_s[(first + n_steps - 1)[:-1]]
        leads = np.concatenate([[True], attempt[1:] != attempt[:-1]])[: attempt.size]
        before_s[leads] = first_token_s[attempt[leads]]
        counts += np.bincount(attempt, n_steps, counts.size).astype(np.int64)
        attempt, first, n_steps = (column.astype(np.int32) for column in (attempt, first, n_steps))
        replicas.append(ReplicaGaps(attempt, first, n_steps, end_s[first] - before_s, end_s))
        let_go(end_s, segments)
    return Gaps(tuple(replicas), counts)
