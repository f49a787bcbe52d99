"""The KV cache against a pool of explicit blocks, operation by operation."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from simulator import kvcache
from simulator.kvcache import BlockTable, KVCache
from tests.simulator.reference_engine import Block, Key, Pool

BRANCHES = ([0, 1, 2, 3, 4], [0, 1, 5, 6], [0, 7], [8, 9, 10], [])
"""Paths of identities in a tree: each sequence follows one for some blocks."""
NUM_IDENTITIES = 11


class Twin:
    """One sequence in both worlds."""

    def __init__(self, name: int, path: list[int]) -> None:
        self.name = name
        self.path = path
        self.table = BlockTable(np.array(path, np.int32))
        self.blocks: list[Block] = []
        self.offered = 0

    def keys(self) -> list[Key]:
        own: list[Key] = [("own", self.name, index) for index in range(len(self.path), 40)]
        return [("shared", number) for number in self.path] + own


class CacheMachine(RuleBasedStateMachine):
    @initialize(n_blocks=st.integers(4, 16), caching=st.sampled_from([True, True, True, False]))
    def build(self, n_blocks: int, caching: bool) -> None:
        self.n_blocks = n_blocks
        self.cache = KVCache(n_blocks, NUM_IDENTITIES, enable_prefix_caching=caching)
        self.pool = Pool(n_blocks, caching=caching)
        self.live: list[Twin] = []
        self.waiting: list[Twin] = []
        self.named = 0

    @rule(branch=st.sampled_from(BRANCHES), length=st.integers(0, 5))
    def arrive(self, branch: list[int], length: int) -> None:
        self.named += 1
        self.waiting.append(Twin(self.named, branch[:length]))

    @precondition(lambda self: self.waiting)
    @rule(which=st.integers(0, 9), limit=st.integers(0, 12))
    def admit(self, which: int, limit: int) -> None:
        twin = self.waiting.pop(which % len(self.waiting))
        found = self._found(twin, limit)
        hit = self.cache.match(twin.table, limit)
        assert hit.blocks == len(found)
        assert hit.from_free == sum(block.refs == 0 for block in found)
        self.cache.acquire(twin.table, hit)
        for block in found:
            self.pool.touch(block)
        for key in twin.keys()[len(twin.path) :]:
            self.pool.forget(key)
        twin.blocks = found
        twin.offered = min(len(found), len(twin.path))
        self.live.append(twin)

    @precondition(lambda self: self.live)
    @rule(which=st.integers(0, 9), count=st.integers(1, 6))
    def grow(self, which: int, count: int) -> None:
        twin = self.live[which % len(self.live)]
        if count > len(self.pool.free):
            with pytest.raises(RuntimeError, match="free"):
                self.cache.take(count)
            return
        self.cache.take(count)
        twin.table.held += count
        twin.blocks += [self.pool.take() for _ in range(count)]

    @precondition(lambda self: self.live)
    @rule(which=st.integers(0, 9), back=st.integers(0, 2))
    def compute(self, which: int, back: int) -> None:
        twin = self.live[which % len(self.live)]
        self._offer(twin, max(0, len(twin.blocks) - back))

    @precondition(lambda self: self.live)
    @rule(which=st.integers(0, 9))
    def finish(self, which: int) -> None:
        twin = self.live.pop(which % len(self.live))
        self.cache.release(twin.table)
        self.pool.give_back(twin.blocks)

    @precondition(lambda self: self.live)
    @rule(which=st.integers(0, 9), back=st.integers(0, 2))
    def preempt(self, which: int, back: int) -> None:
        twin = self.live.pop(which % len(self.live))
        computed = max(twin.offered, len(twin.blocks) - back)
        self._offer(twin, computed)
        self.cache.release(twin.table, keep_full_blocks=computed)
        for index in range(len(twin.path), computed):
            self.pool.offer(twin.blocks[index], ("own", twin.name, index))
        self.pool.give_back(twin.blocks)
        twin.blocks = []
        twin.offered = 0
        self.waiting.append(twin)

    @invariant()
    def blocks_are_conserved(self) -> None:
        if not hasattr(self, "cache"):
            return
        assert self.cache.num_free == len(self.pool.free)
        held = Counter(block for twin in self.live for block in twin.blocks)
        assert len(held) + self.cache.num_free == self.n_blocks
        assert all(block.refs == count for block, count in held.items())
        assert all(count == 1 for block, count in held.items() if block.key is None)
        assert [twin.table.held for twin in self.live] == [len(twin.blocks) for twin in self.live]
        self.cache.check_integrity([twin.table for twin in self.live])

    @invariant()
    def the_same_blocks_are_found(self) -> None:
        if hasattr(self, "cache"):
            self._compare_found()

    def teardown(self) -> None:
        """Free everything, then evict block by block: the order must be the same."""
        if not hasattr(self, "cache"):
            return
        while self.live:
            self.finish(0)
        while self.pool.free:
            self.pool.take()
            self.cache.take(1)
            self._compare_found()
        assert self.cache.num_evicted == self.pool.evicted

    def _compare_found(self) -> None:
        probes = [Twin(0, branch) for branch in BRANCHES]
        for twin in [*probes, *self.waiting]:
            found = self._found(twin, 40)
            hit = self.cache.match(twin.table, 40)
            assert hit == (len(found), sum(block.refs == 0 for block in found))

    def _found(self, twin: Twin, limit: int) -> list[Block]:
        found: list[Block] = []
        for key in twin.keys()[:limit]:
            if key not in self.pool.found:
                break
            found.append(self.pool.found[key])
        return found

    def _offer(self, twin: Twin, full: int) -> None:
        self.cache.register(twin.table, full)
        for index in range(twin.offered, min(full, len(twin.path))):
            self.pool.offer(twin.blocks[index], ("shared", twin.path[index]))
        twin.offered = max(twin.offered, min(full, len(twin.path)))


TestCache = CacheMachine.TestCase
TestCache.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)


def test_giving_memory_back_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kvcache, "_REGION", 2)
    monkeypatch.setattr(kvcache, "_SWEEP_EVICTIONS", 1)
    run_state_machine_as_test(CacheMachine, settings=TestCache.settings)
