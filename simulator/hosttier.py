"""A second tier of KV blocks in host memory: what the GPU's pool evicts, least recently used out first.

Writing to it is free (it overlaps with computing); loading a block back costs time. Only blocks with an identity are
kept: nothing else could be asked for again.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from simulator.kvcache import BlockIds, count_leading
from simulator.lazyzeros import lazy_zeros


class HostTier:
    """Room for *num_blocks* blocks out of *num_identities* contents; a block takes *load_s* to load back."""

    def __init__(self, num_blocks: int, num_identities: int, load_s: float) -> None:
        if num_blocks < 1:
            raise ValueError(f"num_blocks is {num_blocks}; a host tier needs at least one")
        self.num_blocks = num_blocks
        self.num_held = 0
        self.load_s = load_s
        self._held = lazy_zeros(num_identities, np.bool_)
        self._stamp = lazy_zeros(num_identities, np.int32)
        self._queue: deque[tuple[BlockIds, int]] = deque()
        self._next_stamp = 1

    def put(self, ids: BlockIds) -> None:
        """Keep the blocks *ids*, the last of them most recent; push out the oldest beyond the room."""
        ids = ids[-self.num_blocks :]
        self.num_held += int(np.count_nonzero(~self._held[ids]))
        self._held[ids] = True
        self._touch(ids)
        while self.num_held > self.num_blocks:
            self._drop_oldest(self.num_held - self.num_blocks)

    def leading(self, ids: BlockIds) -> int:
        """How many of the first of *ids* are kept. Changes nothing."""
        return count_leading(self._held[ids])

    def load(self, ids: BlockIds) -> float:
        """Seconds to load the blocks *ids*, which become the most recent; the host keeps its copies."""
        kept = ids[self._held[ids]]
        if kept.size:
            self._touch(kept)
        return float(ids.size) * self.load_s

    def _touch(self, ids: BlockIds) -> None:
        self._stamp[ids] = self._next_stamp
        self._queue.append((ids, self._next_stamp))
        self._next_stamp += 1

    def _drop_oldest(self, count: int) -> None:
        """Push out up to *count* blocks of the front of the queue."""
        ids, stamp = self._queue.popleft()
        live = ids[self._held[ids] & (self._stamp[ids] == stamp)]
        if live.size > count:
            self._queue.appendleft((live[count:], stamp))
            live = live[:count]
        self._held[live] = False
        self.num_held -= int(live.size)
