"""Block paths as runs of consecutive identities, put together from the records of block keys.

Blocks are numbered as they are met, so that a request that goes on from an earlier one has few runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simulator.keyrecords import Records
from simulator.kvcache import NO_BLOCKS, BlockIds
from simulator.lazypaths import LazyPaths
from simulator.longcolumns import LongColumn, let_go_all, zeros_apart

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class KeyPaths(LazyPaths):
    """A path for each request, as runs of consecutive identities; written out when it is asked for."""

    firsts: I32
    sizes: I32
    """First identity and length of each run."""
    bounds: I64
    """Request r has the runs ``bounds[r]:bounds[r + 1]``."""
    num_identities: int

    def __len__(self) -> int:
        return self.bounds.size - 1

    def path(self, request: int) -> BlockIds:
        """The identities of the request's leading blocks that occur in another request too."""
        first, last = self.bounds[request], self.bounds[request + 1]
        if first == last:
            return NO_BLOCKS
        sizes = self.sizes[first:last]
        ends = np.cumsum(sizes, dtype=np.int32)
        return np.repeat(self.firsts[first:last] - (ends - sizes), sizes) + np.arange(ends[-1], dtype=np.int32)


class SharedNodes:
    """Finds what the requests with a node in common share of it.

    A request that goes on from another shares all of what it leaves out.
    Each covers the first few of its blocks; with *every_prompt_twice*, as many as the second number says again.
    """

    def __init__(self, every_prompt_twice: bool) -> None:
        self._again = every_prompt_twice
        self.count = 0
        """Nodes so far of which something is shared."""

    def share(self, records: Records, places: I64) -> None:
        """Write how many blocks of its node are shared, and where the node is first met, into each of *records*."""
        covered = records["covered"]
        order = np.lexsort((-covered, records["node"]))
        nodes = records["node"][order]
        starts = np.flatnonzero(np.concatenate(([True], nodes[1:] != nodes[:-1])))
        sizes = np.diff(np.append(starts, nodes.size))
        most = np.where(sizes > 1, covered[order[np.minimum(starts + 1, order.size - 1)]], 0)
        stated = records["most"][order]
        least = np.where(stated < 0, ~stated, stated if self._again else 0)
        most = np.maximum(most, np.maximum.reduceat(least, starts))
        self.count += int(np.count_nonzero(most))
        records["most"][order] = np.repeat(most, sizes)
        records["node"][order] = np.repeat(np.minimum.reduceat(places[order], starts), sizes)


class PathsBuilder:
    """Numbers the blocks of shared nodes as they are met, and puts the requests' paths together.

    *nodes* of the *keys* in all name shared blocks.
    """

    def __init__(self, nodes: int, keys: int) -> None:
        columns = zeros_apart(nodes, {"places": np.uint32 if keys < 1 << 32 else np.uint64, "identities": np.int32})
        self._places, self._identities = columns.values()
        """Of each node so far, in order, where it is first met, and its first identity."""
        self._known = 0
        self._keys = 0
        self._next = 0
        self._firsts = LongColumn(np.int32)
        self._sizes = LongColumn(np.int32)
        self._bounds = LongColumn(np.int64)
        self._bounds.append(np.zeros(1, np.int64))
        self._runs = 0

    def add(self, records: Records, counts: I32, before: I32) -> None:
        """Add the requests that have so many of *records* each, behind *before* blocks of the request before."""
        self._number(records)
        starts = np.repeat(np.cumsum(counts, dtype=np.int64) - counts, counts)
        covered = records["covered"]
        shared = np.minimum(records["most"], covered)
        shared[_after_first(shared < covered, starts)] = 0
        kept = np.flatnonzero(shared)
        sizes, starts = shared[kept], starts[kept]
        place = np.searchsorted(self._places[: self._known], records["node"][kept].astype(self._places.dtype))
        firsts = self._identities[place]
        goes_on = np.zeros(kept.size, np.bool_)
        goes_on[1:] = (firsts[1:] == firsts[:-1] + sizes[:-1]) & (starts[1:] == starts[:-1])
        leads = np.flatnonzero(~goes_on)
        runs = _Runs(
            firsts[leads],
            np.add.reduceat(sizes, leads, dtype=np.int32) if leads.size else np.empty(0, np.int32),
            np.searchsorted(kept[leads], np.cumsum(counts, dtype=np.int64)),
        )
        if before.any():
            runs = _joined(runs, before)
        self._firsts.append(runs.firsts)
        self._sizes.append(runs.sizes)
        self._bounds.append(runs.ends + self._runs)
        self._runs += runs.firsts.size
        let_go_all()

    def build(self) -> KeyPaths:
        """All paths."""
        firsts, sizes, bounds = (column.array() for column in (self._firsts, self._sizes, self._bounds))
        return KeyPaths(firsts, sizes, bounds, self._next)

    def _number(self, records: Records) -> None:
        """Number the blocks of the nodes that are first met among *records*."""
        places = np.arange(self._keys, self._keys + records.size)
        new = np.flatnonzero((records["node"] == places) & (records["most"] > 0))
        most = records["most"][new].astype(np.int64)
        ends = self._next + np.cumsum(most)
        end = self._known + new.size
        self._places[self._known : end] = places[new]
        self._identities[self._known : end] = ends - most
        self._keys += records.size
        self._known = end
        self._next = int(ends[-1]) if new.size else self._next


class _Runs(NamedTuple):
    """Runs of identities of some requests, those of each together."""

    firsts: I32
    sizes: I32
    ends: I64
    """Of each request, how many runs there are up to its last."""


def _joined(own: _Runs, before: I32) -> _Runs:
    """The *own* runs of each request behind those of the first *before* blocks of the request before."""
    firsts, sizes, ends = own.firsts.tolist(), own.sizes.tolist(), own.ends.tolist()
    joined: tuple[list[int], list[int], list[int]] = ([], [], [])
    begun = started = 0
    for end, left in zip(ends, before.tolist(), strict=True):
        last, started = started, len(joined[0])
        while left:
            size = min(left, joined[1][last])
            joined[0].append(joined[0][last])
            joined[1].append(size)
            left -= size
            last += 1
        if begun < end and started < len(joined[0]) and joined[0][-1] + joined[1][-1] == firsts[begun]:
            joined[1][-1] += sizes[begun]
            begun += 1
        joined[0].extend(firsts[begun:end])
        joined[1].extend(sizes[begun:end])
        joined[2].append(len(joined[0]))
        begun = end
    return _Runs(np.array(joined[0], np.int32), np.array(joined[1], np.int32), np.array(joined[2], np.int64))


def _after_first(broken: npt.NDArray[np.bool_], starts: I64) -> npt.NDArray[np.bool_]:
    """Which entries come after the first *broken* one of their request, whose entries begin at *starts*."""
    seen = np.concatenate(([0], np.cumsum(broken)))
    return seen[:-1] > seen[starts]
