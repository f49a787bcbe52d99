"""A plain engine that runs one step at a time over explicit sequences and blocks: what the fast one must equal.

It shares with the engine only the settings and the cost model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from simulator.config import EngineConfig
from simulator.cost import CostModel, PrefillWork

Key = tuple[object, ...]


@dataclass(eq=False)
class Block:
    """One KV block. *key* says what it holds, if that can be found again."""

    key: Key | None = None
    refs: int = 0


class Pool:
    """All blocks: those free in the order in which they will be taken, and where each content is found."""

    def __init__(self, n_blocks: int, *, caching: bool) -> None:
        self.free = [Block() for _ in range(n_blocks)]
        self.found: dict[Key, Block] = {}
        self.caching = caching
        self.evicted = 0
        self.changes = 0
        """Times that blocks were freed or offered."""

    def take(self) -> Block:
        block = self.free.pop(0)
        if block.key is not None:
            self.evicted += block.key[0] == "shared"
            del self.found[block.key]
            block.key = None
        block.refs = 1
        return block

    def touch(self, block: Block) -> None:
        if block.refs == 0:
            self.free.remove(block)
        block.refs += 1

    def offer(self, block: Block, key: Key) -> None:
        """Let *block* be found under *key*, unless another one is."""
        if self.caching and block.key is None and key not in self.found:
            block.key = key
            self.found[key] = block

    def forget(self, key: Key) -> None:
        block = self.found.pop(key, None)
        if block is not None:
            block.key = None

    def give_back(self, blocks: list[Block]) -> None:
        """Free the blocks of a sequence, the tail first; ahead of all go those that can never be found."""
        self.changes += 1
        for block in [*(b for b in blocks[::-1] if b.key is None), *(b for b in blocks[::-1] if b.key is not None)]:
            block.refs -= 1
            if block.refs == 0:
                self.free.append(block)


@dataclass(eq=False)
class Seq:
    """One attempt, its oracle included: *accepted* and *drafted* hold the outcome of a round from each token."""

    id: int
    prompt: int
    path: list[int]
    output: int
    accepted: list[int]
    drafted: list[int]
    labels: list[int]
    blocks: list[Block] = field(default_factory=list)
    generated: int = 0
    computed: int = 0
    offered: int = 0
    """Leading blocks that were offered to the cache; one that was not needed then is never found later."""
    target: int = 0
    decoding: bool = False
    arrival_s: float = float("nan")
    scheduled_s: float = float("nan")
    first_token_s: float = float("nan")
    finish_s: float = float("nan")
    hit_tokens: int = 0
    preemptions: int = 0
    refused: bool = False
    prefill_gpu_s: float = 0.0
    decode_gpu_s: float = 0.0
    rounds: int = 0
    draft_tokens: int = 0
    accepted_tokens: int = 0
    emitted_s: list[float] = field(default_factory=list)
    """When each chunk of its output was emitted."""


@dataclass
class Step:
    """What one step computes."""

    rounds: list[tuple[Seq, int]] = field(default_factory=list)
    """Decoding sequences and the drafts that each verifies."""
    chunks: list[tuple[Seq, int]] = field(default_factory=list)
    budget: int = 0
    preempted: bool = False


class Engine:
    """Scheduler, cache and clock of one replica."""

    def __init__(self, config: EngineConfig, cost: CostModel, on_finish: Callable[[Seq, float], None]) -> None:
        self.config = config
        self.cost = cost
        self.on_finish = on_finish
        self.pool = Pool(config.num_gpu_blocks, caching=config.enable_prefix_caching)
        self.running: list[Seq] = []
        self.waiting: list[Seq] = []
        self.blocked = (-1, 0)
        """Changes of the pool when the first waiting prompt last found no blocks, and the chunk that it asked for.

        It is tried again after a change or with a smaller chunk, but not for the eviction of blocks that it would hit.
        """
        self.n_steps = 0
        self.busy_s = 0.0
        self.by_subclass = np.zeros(8)
        self.log: list[tuple[float, int, int, float]] = []
        """Time, running, waiting and used blocks; NaN for blocks in mid-step."""

    def submit(self, seq: Seq, now: float) -> None:
        seq.arrival_s = now
        if not 0 < seq.prompt < self.config.max_model_len:
            seq.refused = True
            seq.finish_s = now
            self.on_finish(seq, now)
        else:
            self.waiting.append(seq)
            self.log.append((now, len(self.running), len(self.waiting), float("nan")))

    def _log(self, now: float) -> None:
        used = self.config.num_gpu_blocks - len(self.pool.free)
        self.log.append((now, len(self.running), len(self.waiting), used))

    def schedule(self, now: float) -> Step:
        step = Step(budget=self.config.max_num_batched_tokens)
        self._schedule_rounds(step)
        for seq in list(self.running):
            if seq in self.running and not seq.decoding and step.budget:
                self._schedule_chunk(step, seq)
        while not step.preempted and step.budget and self.waiting and len(self.running) < self.config.max_num_seqs:
            if not self._admit(step, now):
                break
        self._log(now)
        return step

    def _schedule_rounds(self, step: Step) -> None:
        """Serve the decoding sequences in order, then preempt until their blocks are there, then take these."""
        for seq in self.running:
            if seq.decoding and step.budget:
                room = self.config.max_model_len - (seq.prompt + seq.generated) - 1
                drafts = min(seq.drafted[seq.generated], step.budget - 1, room)
                step.rounds.append((seq, drafts))
                step.budget -= 1 + drafts
        while sum(self._needed(seq, self._round_slots(seq, g)) for seq, g in step.rounds) > len(self.pool.free):
            self._preempt(step)
        for seq, drafts in step.rounds:
            self._allocate(step, seq, self._round_slots(seq, drafts))

    def _round_slots(self, seq: Seq, drafts: int) -> int:
        return seq.prompt + seq.generated + drafts + self.config.num_lookahead_tokens

    def _schedule_chunk(self, step: Step, seq: Seq) -> None:
        chunk = self._chunk(seq.target - seq.computed, step.budget)
        if chunk and self._allocate(step, seq, seq.computed + chunk + self.config.num_lookahead_tokens):
            self._run_chunk(step, seq, chunk)

    def _run_chunk(self, step: Step, seq: Seq, chunk: int) -> None:
        step.chunks.append((seq, chunk))
        step.budget -= chunk
        self._offer(seq, seq.computed + chunk)

    def _offer(self, seq: Seq, tokens: int) -> None:
        full = min(tokens // self.config.block_size, len(seq.path))
        self.pool.changes += self.pool.caching and full > seq.offered
        for index in range(seq.offered, full):
            self.pool.offer(seq.blocks[index], ("shared", seq.path[index]))
        seq.offered = max(seq.offered, full)

    def _chunk(self, remaining: int, budget: int) -> int:
        if self.config.long_prefill_token_threshold:
            remaining = min(remaining, self.config.long_prefill_token_threshold)
        if remaining > budget:
            return budget if self.config.enable_chunked_prefill else 0
        return remaining

    def _allocate(self, step: Step, seq: Seq, slots: int) -> bool:
        """Blocks for *slots* tokens of *seq*, preempting for them; False if *seq* itself had to go."""
        while needed := self._needed(seq, slots):
            if needed <= len(self.pool.free):
                seq.blocks += [self.pool.take() for _ in range(needed)]
            elif self._preempt(step) is seq:
                return False
        return True

    def _needed(self, seq: Seq, slots: int) -> int:
        """Blocks that *seq* lacks for *slots* tokens."""
        return max(0, -(-min(slots, self.config.max_model_len) // self.config.block_size) - len(seq.blocks))

    def _preempt(self, step: Step) -> Seq:
        seq = self.running.pop()
        for victim, drafts in step.rounds:
            if victim is seq:
                step.budget += 1 + drafts
        step.rounds = [item for item in step.rounds if item[0] is not seq]
        if seq.decoding:
            seq.computed = seq.prompt + seq.generated - 1
        self._offer(seq, seq.computed)
        for index in range(len(seq.path), seq.computed // self.config.block_size):
            self.pool.offer(seq.blocks[index], ("own", seq.id, index))
        self.pool.give_back(seq.blocks)
        seq.blocks = []
        seq.computed = seq.offered = 0
        seq.decoding = False
        seq.preemptions += 1
        self.waiting.insert(0, seq)
        step.preempted = True
        return seq

    def _keys(self, seq: Seq) -> list[Key]:
        shared: list[Key] = [("shared", number) for number in seq.path]
        return shared + [("own", seq.id, index) for index in range(len(seq.path), self.config.num_gpu_blocks)]

    def _admit(self, step: Step, now: float) -> bool:
        if self.blocked[0] == self.pool.changes and step.budget >= self.blocked[1]:
            return False
        seq = self.waiting[0]
        size = self.config.block_size
        seq.target = seq.prompt + seq.generated
        hits: list[Block] = []
        for key in self._keys(seq)[: (seq.target - 1) // size]:
            if key not in self.pool.found:
                break
            hits.append(self.pool.found[key])
        if hits and self.config.speculative_method.drops_last_hit:
            hits.pop()
        chunk = self._chunk(seq.target - len(hits) * size, step.budget)
        needed = -(-(len(hits) * size + chunk) // size) - len(hits)
        if not chunk:
            return False
        if needed > len(self.pool.free) - sum(block.refs == 0 for block in hits):
            self.blocked = (self.pool.changes, chunk)
            return False
        self.running.append(self.waiting.pop(0))
        for block in hits:
            self.pool.touch(block)
        for key in self._keys(seq)[len(seq.path) :]:
            self.pool.forget(key)
        seq.blocks = hits + [self.pool.take() for _ in range(needed)]
        seq.computed = len(hits) * size
        seq.offered = min(len(hits), len(seq.path))
        if np.isnan(seq.scheduled_s):
            seq.scheduled_s = now
            seq.hit_tokens = seq.computed
        self._run_chunk(step, seq, chunk)
        return True

    def time_of(self, step: Step) -> float:
        """Seconds that *step* takes, charged to those in it."""
        n_seqs = len(step.rounds)
        n_drafts = sum(drafts for _, drafts in step.rounds)
        context = sum(seq.prompt + seq.generated for seq, _ in step.rounds)
        work = PrefillWork(
            tokens=sum(chunk for _, chunk in step.chunks),
            pairs=sum(seq.computed + i for seq, chunk in step.chunks for i in range(1, chunk + 1)),
            context_tokens=sum(seq.computed for seq, _ in step.chunks),
            last_tokens=sum(seq.computed + chunk == seq.target for seq, chunk in step.chunks),
        )
        passes = self.config.num_speculative_tokens if n_drafts else 0
        cost = self.cost.step(n_seqs, n_drafts, context, passes, work)
        for seq, chunk in step.chunks:
            seq.prefill_gpu_s += (cost.prefill_s + cost.draft_prefill_s) * chunk / work.tokens
        for seq, drafts in step.rounds:
            share = cost.decode_s / n_seqs
            seq.decode_gpu_s += share
            emitted = self._emitted(seq, drafts)
            for label in seq.labels[seq.generated : seq.generated + emitted]:
                self.by_subclass[label] += share / emitted
        self.n_steps += 1
        self.busy_s += cost.total_s
        return cost.total_s

    def _emitted(self, seq: Seq, drafts: int) -> int:
        return min(min(seq.accepted[seq.generated], drafts) + 1, seq.output - seq.generated)

    def complete(self, step: Step, now: float) -> None:
        """Act on what *step* computed."""
        for seq, drafts in step.rounds:
            emitted = self._emitted(seq, drafts)
            seq.rounds += 1
            seq.draft_tokens += drafts
            seq.accepted_tokens += min(emitted - 1, drafts)
            seq.generated += emitted
            seq.emitted_s.append(now)
        for seq, chunk in step.chunks:
            seq.computed += chunk
            if seq.computed == seq.target:
                seq.decoding = True
                seq.generated += 1
                seq.emitted_s.append(now)
                if np.isnan(seq.first_token_s):
                    seq.first_token_s = now
        done = [seq for seq in self.running if seq.decoding and seq.generated >= seq.output]
        for seq in done:
            self._offer(seq, seq.prompt + seq.generated - 1)
            self.running.remove(seq)
            self.pool.give_back(seq.blocks)
            seq.finish_s = now
            self.on_finish(seq, now)
        self._log(now)
