"""One replica as a SimPy event source: runs steps, jumping over those in which nothing but decoding happens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter

import numpy as np
import numpy.typing as npt
import simpy
from simpy.events import EventPriority

from simulator.config import EngineConfig
from simulator.cost import CostModel, PrefillWork
from simulator.hosttier import HostTier
from simulator.kvcache import NO_BLOCKS, BlockIds, BlockTable, KVCache
from simulator.lane import DecodeLane, OutcomeSource
from simulator.ledger import LoadLog, StepLedger, WorkLog
from simulator.scheduler import Scheduler, Sequence, StepPlan

F64 = npt.NDArray[np.float64]

MAX_JUMP_STEPS = 2048
"""Steps computed at once: bounds the work lost when an arrival cuts a jump short."""


@dataclass(slots=True, eq=False)
class Request:
    """A submitted attempt and what it came to. Times are simulated seconds."""

    id: int
    prompt_tokens: int
    path: BlockIds = field(default_factory=lambda: NO_BLOCKS)
    """Identities of the leading full blocks of prompt and output that can be reused."""
    arrival_s: float = 0.0
    scheduled_s: float | None = None
    first_token_s: float | None = None
    finish_s: float | None = None
    hit_tokens: int = 0
    """Prompt tokens found in the cache when it was first admitted."""
    prefill_gpu_s: float = 0.0
    draft_prefill_gpu_s: float = 0.0
    host_hit_tokens: int = 0
    """Tokens loaded from host memory, all admissions together."""
    kv_load_s: float = 0.0
    """GPU seconds that steps waited for them."""
    received_tokens: int = 0
    """Leading prompt tokens whose KV another replica computed and sent."""
    kv_transfer_s: float = 0.0
    """Time on the wire between a prefill and a decode replica; no GPU waits for it."""
    replica: int = 0
    """The replica that it was sent to."""
    decode_replica: int = 0
    """The replica that emits its tokens."""
    num_preemptions: int = 0
    refused: bool = False
    """Never run: it can't fit into max_model_len."""


class _Boundary(simpy.Event):
    """The end of a step. Of events at one instant it comes last, so an arrival at that instant joins the next step."""

    _PRIORITY = EventPriority(2)

    def __init__(self, env: simpy.Environment, delay_s: float, call: Callable[[simpy.Event], None]) -> None:
        super().__init__(env)
        self.callbacks = [call]
        self._ok = True
        self._value = None
        env.schedule(self, self._PRIORITY, delay_s)


@dataclass(slots=True)
class _Work:
    """Steps under way: their end times and durations, and the plan if prefill is in them (then one step)."""

    end_s: F64
    durations_s: F64
    start_s: float
    plan: StepPlan | None = None
    share_s: float = 0.0
    load_s: float = 0.0
    taken_blocks: int = 0
    """Blocks of a jump that are taken from the pool already."""


class Replica:
    """A modelled engine on one GPU (or one tensor-parallel group).

    *outcomes* knows how outputs unfold; *on_finish* is called with each request that is done, at that time.
    """

    def __init__(
        self,
        env: simpy.Environment,
        config: EngineConfig,
        cost: CostModel,
        outcomes: OutcomeSource,
        num_identities: int,
        on_finish: Callable[[Request], None],
        tier: HostTier | None = None,
    ) -> None:
        self.env = env
        self.config = config
        self.cost = cost
        self.cache = KVCache(
            config.num_gpu_blocks, num_identities, enable_prefix_caching=config.enable_prefix_caching, tier=tier
        )
        self.scheduler = Scheduler(config, self.cache)
        self.lane = DecodeLane(config, outcomes)
        self.ledger = StepLedger()
        self.load = LoadLog()
        self.work = WorkLog()
        self._tier = tier
        self._on_finish = on_finish
        self._live: dict[int, Request] = {}
        self._work: _Work | None = None
        self._boundary: simpy.Event | None = None
        self._clock_s = 0.0

    def submit(self, request: Request) -> None:
        """Take *request* at the current time; one that can never fit is finished as refused at once."""
        request.arrival_s = self.env.now
        table = BlockTable(request.path, received_tokens=request.received_tokens)
        sequence = Sequence(request.id, request.prompt_tokens, table)
        if not self.scheduler.fits(sequence):
            request.refused = True
            request.finish_s = self.env.now
            self._on_finish(request)
            return
        self._live[request.id] = request
        self.scheduler.add(sequence)
        self._log_load(self.env.now)
        if self._work is None:
            if self._boundary is None:
                self._wake(0.0)
        elif self.scheduler.has_work_beside_decoding():
            self._shorten(self._work)

    @property
    def num_waiting(self) -> int:
        """Requests that are queued."""
        return len(self.scheduler.waiting)

    @property
    def num_running(self) -> int:
        """Requests that are in prefill or decoding."""
        return len(self.scheduler.running)

    def hit_tokens(self, table: BlockTable, prompt_tokens: int) -> int:
        """Prompt tokens that *table* would find in the cache, or on the host, if it were admitted now."""
        limit = (prompt_tokens - 1) // self.config.block_size
        hit = self.cache.match(table, limit)
        if hit.blocks and self._work is not None and self._work.plan is None:
            self._settle(self._work)
            hit = self.cache.match(table, limit)
        return (hit.blocks + self.cache.on_host(table, hit, limit)) * self.config.block_size

    def _settle(self, work: _Work) -> None:
        """Take the blocks of those steps of a jump that have begun: so far it only holds a claim on them."""
        begun = min(int(np.searchsorted(work.end_s, self.env.now)) + 1, work.end_s.size)
        blocks = int(self.lane.window(begun)[2].sum())
        self.cache.take(blocks - work.taken_blocks)
        work.taken_blocks = blocks

    def _wake(self, delay_s: float) -> None:
        self._boundary = _Boundary(self.env, delay_s, self._at_boundary)

    def _shorten(self, work: _Work) -> None:
        """End a jump at the first step boundary from now on."""
        count = int(np.searchsorted(work.end_s, self.env.now)) + 1
        if count < work.end_s.size:
            work.end_s = work.end_s[:count]
            work.durations_s = work.durations_s[:count]
            self._wake(max(0.0, float(work.end_s[-1]) - self.env.now))

    def _at_boundary(self, event: simpy.Event) -> None:
        if event is not self._boundary:
            return
        self._boundary = None
        if self._work is None:
            self._clock_s = self.env.now
        else:
            work, self._work = self._work, None
            self._clock_s = float(work.end_s[-1])
            self._complete(work)
        if self._boundary is None:
            self._begin()

    def _begin(self) -> None:
        """Start the next step or run of steps, if there is anything to do."""
        lane, scheduler = self.lane, self.scheduler
        depths = self.config.num_speculative_tokens_per_batch_size
        if depths is not None:
            lane.limit_drafts(depths.gamma(len(scheduler.running)))
        tokens, blocks = lane.demand()
        if tokens > self.config.max_num_batched_tokens:
            lane.fit(self.config.max_num_batched_tokens)
            self._work = self._mixed_step()
            if self._work is None and lane.resume_stalled():  # the only one that was served is preempted
                self._begin()
                return
        elif (
            scheduler.has_work_beside_decoding()
            or blocks > self.cache.num_free
            or tokens > scheduler.max_decode_tokens()
        ):
            self._work = self._mixed_step()
        elif tokens:
            self._work = self._jump()
        if self._work is not None:
            self._wake(max(0.0, float(self._work.end_s[-1]) - self.env.now))

    def _mixed_step(self) -> _Work | None:
        plan = self.scheduler.plan(self.lane)
        n_seqs = len(self.lane)
        for sequence in plan.admitted:
            self._note_admission(sequence)
        for sequence in plan.preempted:
            self._live[sequence.id].num_preemptions += 1
        if plan.admitted or plan.preempted:
            self._log_load(self._clock_s)
        if not n_seqs and not plan.chunks:
            return None
        n_drafts = self.lane.demand()[0] - n_seqs
        cost = self.cost.step(
            n_seqs, n_drafts, self.lane.context_tokens, self._draft_passes(n_drafts), self._prefill_work(plan)
        )
        total = sum(chunk for _, chunk in plan.chunks)
        for sequence, chunk in plan.chunks:
            request = self._live[sequence.id]
            request.prefill_gpu_s += cost.prefill_s * chunk / total
            request.draft_prefill_gpu_s += cost.draft_prefill_s * chunk / total
        share_s = cost.decode_s / n_seqs if n_seqs else 0.0
        load_s = self._load_blocks(plan)
        total_s = cost.total_s + load_s
        end_s = self._clock_s + total_s
        return _Work(np.array([end_s]), np.array([total_s]), self._clock_s, plan, share_s, load_s)

    def _load_blocks(self, plan: StepPlan) -> float:
        """Seconds that the step waits for blocks from the host; each request is charged its own."""
        total_s = 0.0
        if self._tier is not None:
            for sequence, blocks in plan.loaded:
                request = self._live[sequence.id]
                seconds = self._tier.load(blocks)
                request.kv_load_s += seconds
                request.host_hit_tokens += int(blocks.size) * self.config.block_size
                total_s += seconds
        return total_s

    def _prefill_work(self, plan: StepPlan) -> PrefillWork:
        tokens = pairs = context = last = 0
        for sequence, chunk in plan.chunks:
            before = sequence.computed_tokens
            tokens += chunk
            pairs += chunk * before + chunk * (chunk + 1) // 2
            context += before
            last += before + chunk >= sequence.prefill_tokens
        return PrefillWork(tokens, pairs, context, last)

    def _note_admission(self, sequence: Sequence) -> None:
        request = self._live[sequence.id]
        if request.scheduled_s is None:
            request.scheduled_s = max(self._clock_s, request.arrival_s)
            request.hit_tokens = sequence.hit_tokens

    def _draft_passes(self, n_drafts: int) -> int:
        return int(self.lane.draft_passes(1)[0]) if n_drafts else 0

    def _jump(self) -> _Work:
        """All steps to the next finish, or to the one whose blocks or tokens do not fit."""
        lane = self.lane
        n_seqs, gamma = len(lane), self.config.num_speculative_tokens
        count = min(lane.steps_to_next_finish(), MAX_JUMP_STEPS)
        tokens, drafts, blocks = lane.window(count)
        if blocks.sum() > self.cache.num_free:
            count = int(np.searchsorted(np.cumsum(blocks), self.cache.num_free, side="right"))
        most_drafts = self.scheduler.max_decode_tokens() - n_seqs
        if gamma and drafts[:count].max() > most_drafts:
            count = int(np.argmax(drafts > most_drafts))
        tokens, drafts = tokens[:count], drafts[:count]
        context = np.empty(count)
        context[0] = lane.context_tokens
        np.add(np.cumsum(tokens[:-1], out=context[1:]), lane.context_tokens, out=context[1:])
        if gamma:
            durations = self.cost.decode_s(float(n_seqs), drafts, context, lane.draft_passes(count))
        else:
            durations = self.cost.decode_s(float(n_seqs), 0.0, context, 0.0)
        run = durations if isinstance(durations, np.ndarray) else np.full(count, durations)
        return _Work(np.cumsum(run) + self._clock_s, run, self._clock_s)

    def _complete(self, work: _Work) -> None:
        """Account for the steps of *work* and act on what ended with them."""
        lane = self.lane
        count = work.end_s.size
        if work.plan is None:
            self.cache.take(int(lane.window(count)[2].sum()) - work.taken_blocks)
            self.ledger.add_steps(work.end_s, work.durations_s, len(lane))
        else:
            self.ledger.add_step(float(work.end_s[0]), float(work.durations_s[0]), work.share_s)
        prefilled = sum(chunk for _, chunk in work.plan.chunks) if work.plan is not None else 0
        self.work.add(work.start_s, self._clock_s, count, len(lane), prefilled, work.load_s)
        finished = lane.advance(count)
        if work.plan is not None:
            finished += self._start_decoding(work.plan)
        for sequence in sorted(finished, key=attrgetter("order")) if len(finished) > 1 else finished:
            self._finish(sequence)
        self._log_load(self._clock_s)

    def _log_load(self, now_s: float) -> None:
        used = self.config.num_gpu_blocks - self.cache.num_free
        self.load.add(now_s, len(self.scheduler.running), len(self.scheduler.waiting), used)

    def _start_decoding(self, plan: StepPlan) -> list[Sequence]:
        """Emit the token of each finished prefill; return the sequences that need no more."""
        ended = []
        for sequence in self.scheduler.computed(plan):
            request = self._live[sequence.id]
            if request.first_token_s is None:
                request.first_token_s = self._clock_s
            sequence.generated_tokens += 1
            if not self.lane.join(sequence, sequence.generated_tokens):
                ended.append(sequence)
        return ended

    def _finish(self, sequence: Sequence) -> None:
        request = self._live.pop(sequence.id)
        computed = sequence.prompt_tokens + sequence.generated_tokens - 1
        self.cache.register(sequence.table, computed // self.config.block_size)
        self.scheduler.finish(sequence)
        request.finish_s = self._clock_s
        self._on_finish(request)

    def check(self) -> None:
        """Raise AssertionError unless every block is accounted for; call it when no step is under way."""
        self.lane.sync_tables()
        tables = [sequence.table for sequence in self.scheduler.running.values()]
        self.cache.check_integrity(tables)
