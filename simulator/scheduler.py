"""What one engine step runs, decided as vLLM V1 decides it; plain code without clock or I/O.

The scheduler sees prompts, limits and the tokens generated so far, never how long an output will be. Decoding
sequences come to it as totals through the DecodeView; only what is in prefill or waiting is looked at one by one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from simulator.backlog import Backlog
from simulator.config import EngineConfig
from simulator.kvcache import BlockIds, BlockTable, Hit, KVCache


@dataclass(slots=True, eq=False)
class Sequence:
    """A request as the scheduler knows it."""

    id: int
    prompt_tokens: int
    table: BlockTable = field(default_factory=BlockTable)
    generated_tokens: int = 0
    """Tokens emitted before the last preemption; they are recomputed with the prompt."""
    computed_tokens: int = 0
    """Tokens of prompt and recomputed output whose KV is in place, hits included."""
    hit_tokens: int = 0
    """Tokens found in the cache at the latest admission."""
    num_preemptions: int = 0
    order: int = 0
    """Number of its latest admission: sequences are served, finished and preempted by it."""

    @property
    def prefill_tokens(self) -> int:
        """Tokens to compute before the next token can be sampled."""
        return self.prompt_tokens + self.generated_tokens


class DecodeView(Protocol):
    """The decoding sequences as the scheduler may see them: what they ask of the coming step."""

    def demand(self) -> tuple[int, int]:
        """Tokens to verify and new KV blocks wanted in the coming step."""
        ...

    def grant(self) -> None:
        """The blocks of the coming step are allocated."""
        ...

    def withdraw(self, sequence: Sequence) -> bool:
        """Take *sequence* out, with its generated tokens and held blocks brought up to date; False if not there."""
        ...


@dataclass(slots=True)
class StepPlan:
    """What the coming step computes beside the decoding sequences."""

    chunks: list[tuple[Sequence, int]] = field(default_factory=list)
    """Sequences in prefill, and how many tokens of each are computed."""
    preempted: list[Sequence] = field(default_factory=list)
    admitted: list[Sequence] = field(default_factory=list)
    loaded: list[tuple[Sequence, BlockIds]] = field(default_factory=list)
    """Admitted sequences, and the blocks that each loads from the second tier."""


class Scheduler:
    """Holds the waiting queue and the running set of one replica."""

    def __init__(self, config: EngineConfig, cache: KVCache) -> None:
        self.config = config
        self.cache = cache
        self.waiting = Backlog()
        self.running: dict[int, Sequence] = {}
        self.prefilling: dict[int, Sequence] = {}
        self._blocked_at = -1
        self._blocked_chunk = 0
        self._num_admitted = 0

    def fits(self, sequence: Sequence) -> bool:
        """Whether *sequence* can ever run: its prompt and one token within max_model_len."""
        return 0 < sequence.prompt_tokens < self.config.max_model_len

    def add(self, sequence: Sequence) -> None:
        """Queue a new sequence."""
        self.waiting.append(sequence)

    def finish(self, sequence: Sequence) -> None:
        """Remove a running sequence and free its blocks; the caller has registered what is computed."""
        del self.running[sequence.id]
        self.cache.release(sequence.table)

    def has_work_beside_decoding(self) -> bool:
        """Whether the coming step may differ from a pure decoding step."""
        if self.prefilling:
            return True
        return self.waiting.size > 0 and len(self.running) < self.config.max_num_seqs and not self._is_blocked()

    def max_decode_tokens(self) -> int:
        """Tokens that decoding may take of a step's budget before the step must be planned.

        A waiting sequence whose chunk found no blocks may be admitted once a smaller budget makes its chunk smaller.
        """
        budget = self.config.max_num_batched_tokens
        if self.waiting.size and len(self.running) < self.config.max_num_seqs and self._is_blocked():
            return budget - self._blocked_chunk
        return budget

    def plan(self, decoding: DecodeView) -> StepPlan:
        """Decide the coming step and allocate its blocks.

        Decoding sequences are served first, then chunks of the running prefills in order, then waiting ones. When
        blocks run out, the last running sequence is preempted and nothing is admitted in this step.
        """
        plan = StepPlan()
        tokens, blocks = decoding.demand()
        while blocks > self.cache.num_free:
            self._preempt_last(plan, decoding)
            tokens, blocks = decoding.demand()
        self.cache.take(blocks)
        decoding.grant()
        used = 0
        for sequence in list(self.prefilling.values()):
            budget = self.config.max_num_batched_tokens - decoding.demand()[0] - used
            if sequence.id in self.prefilling and budget > 0:
                used += self._continue_prefill(sequence, budget, plan, decoding)
        if not plan.preempted:
            self._admit(self.config.max_num_batched_tokens - tokens - used, plan)
        return plan

    def computed(self, plan: StepPlan) -> list[Sequence]:
        """Bring the sequences of *plan* up to date after the step; return those whose prefill is done, in order."""
        done = []
        for sequence, chunk in plan.chunks:
            sequence.computed_tokens += chunk
            if sequence.computed_tokens >= sequence.prefill_tokens:
                del self.prefilling[sequence.id]
                done.append(sequence)
        return done

    def _is_blocked(self) -> bool:
        """Whether the head of the queue failed for lack of blocks and none were freed or computed since.

        One deviation from vLLM, which tries in each step: the eviction of blocks that the head would hit may shorten
        what its chunk needs, and is not looked at.
        """
        return self._blocked_at == self.cache.version

    def _chunk(self, remaining: int, budget: int) -> int:
        threshold = self.config.long_prefill_token_threshold
        if threshold and remaining > threshold:
            remaining = threshold
        if remaining > budget and not self.config.enable_chunked_prefill:
            return 0
        return min(remaining, budget)

    def _blocks_for(self, tokens: int) -> int:
        return -(-tokens // self.config.block_size)

    def _continue_prefill(self, sequence: Sequence, budget: int, plan: StepPlan, decoding: DecodeView) -> int:
        chunk = self._chunk(sequence.prefill_tokens - sequence.computed_tokens, budget)
        if not chunk:
            return 0
        slots = min(sequence.computed_tokens + chunk + self.config.num_lookahead_tokens, self.config.max_model_len)
        wanted = max(0, self._blocks_for(slots) - sequence.table.held)
        while wanted > self.cache.num_free:
            if self._preempt_last(plan, decoding) is sequence:
                return 0
        self._run(sequence, chunk, wanted, plan)
        return chunk

    def _run(self, sequence: Sequence, chunk: int, blocks: int, plan: StepPlan) -> None:
        self.cache.take(blocks)
        sequence.table.held += blocks
        self.cache.register(sequence.table, (sequence.computed_tokens + chunk) // self.config.block_size)
        plan.chunks.append((sequence, chunk))

    def _admit(self, budget: int, plan: StepPlan) -> None:
        while budget > 0 and self.waiting.size and len(self.running) < self.config.max_num_seqs:
            if self._is_blocked() and budget >= self._blocked_chunk:
                return
            sequence = self.waiting.head()
            hit, found = self._match(sequence)
            hit_tokens = max(found * self.config.block_size, sequence.table.received_tokens)
            chunk = self._chunk(sequence.prefill_tokens - hit_tokens, budget)
            if chunk == 0:
                return
            wanted = self._blocks_for(hit_tokens + chunk) - hit.blocks
            if wanted + hit.from_free > self.cache.num_free:
                self._blocked_at = self.cache.version
                self._blocked_chunk = chunk
                return
            self.waiting.popleft()
            self.cache.acquire(sequence.table, hit)
            sequence.computed_tokens = sequence.hit_tokens = hit_tokens
            self._num_admitted += 1
            sequence.order = self._num_admitted
            self.running[sequence.id] = sequence
            self.prefilling[sequence.id] = sequence
            plan.admitted.append(sequence)
            if found > hit.blocks and not sequence.table.received_tokens:
                plan.loaded.append((sequence, sequence.table.path[hit.blocks : found]))
            self._run(sequence, chunk, wanted, plan)
            budget -= chunk

    def _match(self, sequence: Sequence) -> tuple[Hit, int]:
        """Full blocks of the cache, at most all but one token, since the last must be computed to sample from it.

        Second: the same with those that can be loaded from the second tier.
        """
        limit = (sequence.prefill_tokens - 1) // self.config.block_size
        hit = self.cache.match(sequence.table, limit)
        found = hit.blocks + self.cache.on_host(sequence.table, hit, limit)
        if found and self.config.speculative_method.drops_last_hit:
            found -= 1
            hit = self.cache.match(sequence.table, min(hit.blocks, found))
        return hit, found

    def _preempt_last(self, plan: StepPlan, decoding: DecodeView) -> Sequence:
        """Free the last running sequence and queue it at the head; its tokens are computed again later."""
        _, sequence = self.running.popitem()
        if not decoding.withdraw(sequence):
            del self.prefilling[sequence.id]
        self.cache.register(sequence.table, sequence.computed_tokens // self.config.block_size)
        self.cache.release(sequence.table, keep_full_blocks=sequence.computed_tokens // self.config.block_size)
        sequence.computed_tokens = sequence.table.received_tokens = 0
        sequence.num_preemptions += 1
        self.waiting.appendleft(sequence)
        plan.preempted.append(sequence)
        return sequence
