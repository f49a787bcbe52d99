"""What each replica of a cluster did, and the load of all of them together over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simulator.engine import Replica
from simulator.ledger import Table
from simulator.sums import long_sum

F64 = npt.NDArray[np.float64]

_TIME = "time_s"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReplicaLog:
    """Totals and logs of one replica."""

    busy_s: float
    n_steps: int
    num_evicted_blocks: int
    load: Table
    """See LoadLog."""
    work: Table
    """See WorkLog."""

    @classmethod
    def of(cls, replica: Replica) -> ReplicaLog:
        """The log of *replica* at the end of a replay; those that it kept are emptied."""
        return cls(
            busy_s=replica.ledger.busy_s,
            n_steps=len(replica.ledger),
            num_evicted_blocks=replica.cache.num_evicted,
            load=replica.load.take_table(),
            work=replica.work.take_table(),
        )


def merged_load(loads: Sequence[Table]) -> Table:
    """Sums over replicas at every time at which one of them changes; that of one replica is its own."""
    if len(loads) == 1:
        return loads[0]
    time_s = np.concatenate([load[_TIME] for load in loads])
    order = np.argsort(time_s, kind="stable")
    merged = {_TIME: time_s[order]}
    for name in loads[0]:
        if name != _TIME:
            changes = np.concatenate([np.diff(load[name], prepend=0.0) for load in loads])
            merged[name] = np.cumsum(changes[order])
    return merged


def time_weighted(load: Table, name: str) -> float:
    """Mean of column *name* over the time from the first row to the last; 0 without two rows."""
    time_s, values = load[_TIME], load[name]
    count = max(0, time_s.size - 1)
    total_s = long_sum(count, lambda first, last: np.diff(time_s[first : last + 1]))
    if not total_s:
        return 0.0
    return long_sum(count, lambda first, last: values[first:last] * np.diff(time_s[first : last + 1])) / total_s
