"""The KV block pool of one replica: allocation, prefix cache, LRU eviction, as vLLM V1 keeps them.

Blocks that some other sequence could reuse have an identity (an index, see workload.py); all others are counted
only. Free blocks wait in one queue in the order in which they were freed, the tail of a sequence before its head,
and are taken from its front; until then a block with an identity can be hit. One deviation from vLLM: when two
sequences compute the same block at the same time, the second copy can never be hit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from simulator.lazyzeros import clear, lazy_zeros

BlockIds = npt.NDArray[np.int32]
NO_BLOCKS: BlockIds = np.empty(0, dtype=np.int32)
BlockPath = BlockIds | Callable[[], BlockIds]
"""Identities of blocks, or what makes them when it is called."""

_REGION = 1 << 12
"""Identities whose memory is given back together."""
_SWEEP_EVICTIONS = 1 << 20
_SWEEPS = 64
"""Memory is looked through after so many evictions, or so many times until each identity was evicted once."""


class _Chunk:
    """Free blocks that were freed together: with identities, or a count of blocks without."""

    __slots__ = ("count", "ids", "parked", "stamp")

    def __init__(self, ids: BlockIds | None, stamp: int, count: int, *, parked: bool = False) -> None:
        self.ids = ids
        self.stamp = stamp
        self.count = count
        self.parked = parked


class BlockTable:
    """The blocks of one sequence.

    *path* has the identities of its leading full blocks that can be reused, or makes them: a sequence that waits with
    many others need not hold them until it is looked at.
    """

    __slots__ = ("_made", "_source", "held", "owned", "parked", "received_tokens", "registered")

    def __init__(self, path: BlockPath = NO_BLOCKS, *, received_tokens: int = 0) -> None:
        self._source = path
        self._made = None if callable(path) else path
        self.held = 0
        """Blocks allocated to the sequence, hits included."""
        self.registered = 0
        """Leading blocks of the path that are computed or hit."""
        self.owned: list[BlockIds] = []
        """Identities whose cached copy this sequence references."""
        self.parked: _Chunk | None = None
        """Full blocks without identity left behind by a preemption; their owner may find them again."""
        self.received_tokens = received_tokens
        """Leading tokens whose KV was computed elsewhere and comes with the sequence; lost with a preemption."""

    @property
    def path(self) -> BlockIds:
        """Identities of its leading full blocks that can be reused."""
        if self._made is None:
            self._made = self._source() if callable(self._source) else self._source
        return self._made


class Hit(NamedTuple):
    """Leading blocks found in the cache."""

    blocks: int
    from_free: int
    """How many of them lie in the free queue: taking them lowers the free count."""


_MISS = Hit(0, 0)


class SecondTier(Protocol):
    """Where evicted blocks go."""

    def put(self, ids: BlockIds) -> None:
        """Keep the blocks *ids*, which were evicted from the pool in this order."""
        ...

    def leading(self, ids: BlockIds) -> int:
        """How many of the first of *ids* are kept. Changes nothing."""
        ...


def count_leading(flags: npt.NDArray[np.bool_]) -> int:
    """How many of the first of *flags* are set."""
    if not flags.size:
        return 0
    first = int(flags.argmin())
    return flags.size if flags[first] else first


class KVCache:
    """A pool of *num_blocks* blocks, with *num_identities* distinct reusable block contents.

    Invariant: allocated + free = num_blocks at all times (`check_integrity`).
    """

    def __init__(
        self,
        num_blocks: int,
        num_identities: int,
        *,
        enable_prefix_caching: bool = True,
        tier: SecondTier | None = None,
    ) -> None:
        if num_blocks < 1:
            raise ValueError(f"num_blocks is {num_blocks}; at least one is needed")
        self.num_blocks = num_blocks
        self.num_free = num_blocks
        self.num_evicted = 0
        self.version = 0
        """Rises whenever blocks were freed or became available for hits."""
        self._enabled = enable_prefix_caching
        self._tier = tier
        self._resident = lazy_zeros(num_identities, np.bool_)
        self._refs = lazy_zeros(num_identities, np.int32)
        self._stamp = lazy_zeros(num_identities, np.int32)
        self._queue: deque[_Chunk] = deque([_Chunk(None, 0, num_blocks)])
        self._next_stamp = 1
        self._sweep_every = max(_SWEEP_EVICTIONS, num_identities // _SWEEPS)
        self._sweep_at = self._sweep_every

    def match(self, table: BlockTable, limit: int) -> Hit:
        """How many of the first *limit* blocks of *table* can be hit. Changes nothing."""
        if not self._enabled or limit <= 0 or (not table.path.size and table.parked is None):
            return _MISS
        path = table.path[:limit]
        count = count_leading(self._resident[path])
        from_free = count - int(np.count_nonzero(self._refs[path[:count]]))
        if count == table.path.size and table.parked is not None:
            extra = min(table.parked.count, limit - count)
            return Hit(count + extra, from_free + extra)
        return Hit(count, from_free)

    def on_host(self, table: BlockTable, hit: Hit, limit: int) -> int:
        """How many blocks of the first *limit* follow *hit* in the second tier. Changes nothing.

        They need blocks of the pool to be loaded into.
        """
        if self._tier is None or not self._enabled:
            return 0
        rest = table.path[hit.blocks : limit]
        return self._tier.leading(rest) if rest.size else 0

    def acquire(self, table: BlockTable, hit: Hit) -> None:
        """Give *table*, which holds nothing yet, the leading blocks that `match` found."""
        if not hit.blocks:
            table.parked = None
            return
        shared = table.path[: hit.blocks]
        if shared.size:
            self._refs[shared] += 1
            table.owned.append(shared)
        if table.parked is not None:
            table.parked.count -= hit.blocks - shared.size
            table.parked = None
        table.registered = int(shared.size)
        table.held = hit.blocks
        self.num_free -= hit.from_free

    def take(self, count: int) -> None:
        """Take *count* blocks from the free queue, evicting what they held. Raises RuntimeError if there are fewer."""
        if count > self.num_free:
            raise RuntimeError(f"{count} blocks wanted, {self.num_free} free")
        self.num_free -= count
        queue = self._queue
        while count:
            chunk = queue[0]
            if chunk.ids is not None:
                count = self._evict(chunk, chunk.ids, count)
                continue
            taken = min(count, chunk.count)
            chunk.count -= taken
            count -= taken
            if not chunk.count:
                queue.popleft()

    def register(self, table: BlockTable, full_blocks: int) -> None:
        """Offer the first *full_blocks* blocks of *table* to the cache, now that they are computed."""
        end = min(full_blocks, table.path.size)
        if not self._enabled or end <= table.registered:
            return
        self.version += 1
        fresh = table.path[table.registered : end]
        table.registered = end
        present = self._resident[fresh]
        if present.any():
            fresh = fresh[~present]
        self._resident[fresh] = True
        self._refs[fresh] += 1
        table.owned.append(fresh)

    def release(self, table: BlockTable, *, keep_full_blocks: int = 0) -> None:
        """Free all blocks of *table*.

        *keep_full_blocks* > 0 (a preemption): that many leading blocks are computed, and those without identity
        can be found again by this table until they are evicted.
        """
        self.version += 1
        owned = self._merge_owned(table)
        private = table.held - owned.size
        kept = 0
        if self._enabled and table.registered == table.path.size:
            kept = max(0, min(keep_full_blocks - table.path.size, private))
        self._append_blank(private - kept)
        if kept:
            table.parked = _Chunk(None, 0, kept, parked=True)
            self._queue.append(table.parked)
        self.num_free += private
        if owned.size:
            self._drop_refs(owned)
        table.held = table.registered = 0
        table.owned = []

    def check_integrity(self, tables: list[BlockTable]) -> None:
        """Raise AssertionError unless the blocks of *tables*, which must be all live ones, and the free ones add up."""
        queued = sum(int(self._live(c, c.ids).sum()) if c.ids is not None else c.count for c in self._queue)
        assert queued == self.num_free, f"free queue holds {queued}, counter says {self.num_free}"
        private = sum(table.held - sum(ids.size for ids in table.owned) for table in tables)
        cached = int(np.count_nonzero(self._refs))
        assert private >= 0, "a sequence owns more identities than blocks"
        assert private + cached + self.num_free == self.num_blocks, (private, cached, self.num_free)

    @staticmethod
    def _merge_owned(table: BlockTable) -> BlockIds:
        if not table.owned:
            return NO_BLOCKS
        return table.owned[0] if len(table.owned) == 1 else np.concatenate(table.owned)

    def _append_blank(self, count: int) -> None:
        """Queue blocks that can never be hit; neighbours of the kind are one chunk, to bound the queue's length."""
        if not count:
            return
        last = self._queue[-1] if self._queue else None
        if last is not None and last.ids is None and not last.parked:
            last.count += count
        else:
            self._queue.append(_Chunk(None, 0, count))

    def _drop_refs(self, owned: BlockIds) -> None:
        self._refs[owned] -= 1
        freed = owned[self._refs[owned] == 0][::-1]
        if freed.size:
            self._stamp[freed] = self._next_stamp
            self._queue.append(_Chunk(freed, self._next_stamp, 0))
            self._next_stamp += 1
            self.num_free += int(freed.size)

    def _live(self, chunk: _Chunk, ids: BlockIds) -> npt.NDArray[np.bool_]:
        live: npt.NDArray[np.bool_] = (self._refs[ids] == 0) & (self._stamp[ids] == chunk.stamp) & self._resident[ids]
        return live

    def _evict(self, chunk: _Chunk, ids: BlockIds, count: int) -> int:
        """Evict up to *count* blocks of the front chunk; return how many are still wanted."""
        live = np.flatnonzero(self._live(chunk, ids))
        if live.size > count:
            cut = int(live[count - 1]) + 1
            victims = ids[live[:count]]
            chunk.ids = ids[cut:]
        else:
            victims = ids[live]
            self._queue.popleft()
        self._resident[victims] = False
        self.num_evicted += int(victims.size)
        if self._tier is not None and victims.size:
            self._tier.put(victims)
        if self.num_evicted >= self._sweep_at:
            self._sweep()
        return count - int(victims.size)

    def _sweep(self) -> None:
        """Give back the memory of identities in whose neighbourhood none is cached: what is kept of them is over."""
        self._sweep_at = self.num_evicted + self._sweep_every
        regions = self._resident.size // _REGION
        cached = self._resident[: regions * _REGION].reshape(regions, _REGION).any(axis=1)
        borders = np.flatnonzero(np.diff(cached, prepend=True, append=True)) * _REGION
        for first, end in borders.reshape(-1, 2).tolist():
            for column in (self._resident, self._refs, self._stamp):
                clear(column, first, end)
