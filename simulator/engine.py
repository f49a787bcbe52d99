"""One replica as a SimPy event source: runs steps, jumping over those in which nothing but decoding happens."""

from __future__ import annotations

from array import array
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
from simulator.kvcache import NO_BLOCKS, BlockPath, BlockTable, KVCache
from simulator.lane import DecodeLane, OutcomeSource
from simulator.ledger import LoadLog, StepLedger, WorkLog
from simulator.scheduler import Scheduler, Sequence, StepPlan
from simulator.work import DecodeStep, Run, Step

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

MAX_JUMP_STEPS = 2048
"""Steps computed at once: bounds the work lost when an arrival cuts a jump short."""
_STEPS = np.arange(MAX_JUMP_STEPS, dtype=np.float64)
_sums = np.add.accumulate  # on short arrays up to three times as fast as their method cumsum
_INT32, _INT64 = np.dtype(np.int32), np.dtype(np.int64)


@dataclass(slots=True, eq=False)
class Request:
    """A submitted attempt and what it came to. Times are simulated seconds."""

    id: int
    prompt_tokens: int
    path: BlockPath = field(default_factory=lambda: NO_BLOCKS)
    """Identities of the leading full blocks of prompt and output that can be reused, or what makes them."""
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


def _sequence(request: Request) -> Sequence:
    table = BlockTable(request.path, received_tokens=request.received_tokens)
    return Sequence(request.id, request.prompt_tokens, table)


class _Boundary(simpy.Event):
    """The end of a step. Of events at one instant it comes last, so an arrival at that instant joins the next step."""

    _PRIORITY = EventPriority(2)

    def __init__(self, env: simpy.Environment, delay_s: float, call: Callable[[simpy.Event], None]) -> None:
        self.env = env
        self.callbacks = [call]
        self._ok = True
        self._value = None
        env.schedule(self, self._PRIORITY, delay_s)


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
        self._work: Step | DecodeStep | Run | None = None
        self._boundary: simpy.Event | None = None
        self._clock_s = 0.0
        self._resumed = array("q")

    def submit(self, request: Request) -> None:
        """Take *request* at the current time; one that can never fit is finished as refused at once."""
        now_s = request.arrival_s = self.env.now
        sequence = _sequence(request)
        if not self.scheduler.fits(sequence):
            request.refused = True
            request.finish_s = now_s
            self._on_finish(request)
            return
        if self.scheduler.waiting.writes_down:
            self.scheduler.waiting.write_down(request.id, now_s)
        else:
            self._live[request.id] = request
            self.scheduler.add(sequence)
        self._log_load(now_s)
        if self._work is None:
            if self._boundary is None:
                self._wake(0.0)
        elif isinstance(self._work, Run) and self.scheduler.has_work_beside_decoding():
            self._shorten(self._work)

    def let_recall(self, recall: Callable[[int], Request]) -> None:
        """Make requests that wait far back again by *recall*, as they were submitted, by their ids: none holds them."""

        def recalled(number: int, arrival_s: float) -> Sequence:
            request = self._live[number] = recall(number)
            request.arrival_s = arrival_s
            return _sequence(request)

        self.scheduler.waiting.recall = recalled

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
        if hit.blocks and isinstance(self._work, (Run, DecodeStep)):
            self._settle(self._work)
            hit = self.cache.match(table, limit)
        return (hit.blocks + self.cache.on_host(table, hit, limit)) * self.config.block_size

    @property
    def resumed(self) -> I64:
        """Attempt and step, a row for each token that a recomputation after a preemption emitted."""
        return np.array(self._resumed, dtype=np.int64).reshape(-1, 2)

    def _settle(self, run: Run | DecodeStep) -> None:
        """Take the blocks of those steps of *run* that have begun: so far it only holds a claim on them."""
        blocks = run.blocks_of(run.begun(self.env.now))
        self.cache.take(blocks)
        run.taken_blocks += blocks

    def _wake(self, delay_s: float) -> None:
        self._boundary = _Boundary(self.env, delay_s, self._at_boundary)

    def _shorten(self, run: Run) -> None:
        """End *run* at the first step boundary from now on."""
        now_s = self.env.now
        begun = run.begun(now_s)
        if begun < run.n_steps:
            run.n_steps = begun
            run.end_s = run.ends_s.item(begun - 1)
            self._wake(max(0.0, run.end_s - now_s))

    def _at_boundary(self, event: simpy.Event) -> None:
        if event is not self._boundary:
            return
        self._boundary = None
        work = self._work
        if work is None:
            self._clock_s = self.env.now
        else:
            self._work = None
            self._clock_s = work.end_s
            if isinstance(work, Step):
                self._complete_step(work)
            else:
                self._complete_run(work)
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
            count = lane.steps_to_next_finish()
            self._work = self._decode_step(tokens, blocks) if count == 1 else self._jump(min(count, MAX_JUMP_STEPS))
        if self._work is not None:
            self._wake(max(0.0, self._work.end_s - self.env.now))

    def _mixed_step(self) -> Step | None:
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
        n_drafts = self.lane.demand()[0] - n_seqs if self.config.num_speculative_tokens else 0
        prefill = self._prefill_work(plan)
        cost = self.cost.step(n_seqs, n_drafts, self.lane.context_tokens, self.lane.passes(), prefill)
        total = prefill.tokens
        for sequence, chunk in plan.chunks:
            request = self._live[sequence.id]
            request.prefill_gpu_s += cost.prefill_s * chunk / total
            request.draft_prefill_gpu_s += cost.draft_prefill_s * chunk / total
        share_s = cost.decode_s / n_seqs if n_seqs else 0.0
        load_s = self._load_blocks(plan)
        total_s = cost.total_s + load_s
        return Step(self._clock_s, self._clock_s + total_s, total_s, n_seqs, plan, total, share_s, load_s)

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

    def _decode_step(self, tokens: int, blocks: int) -> DecodeStep:
        """The coming step, which verifies *tokens* tokens and takes *blocks* blocks."""
        lane = self.lane
        n_seqs = len(lane)
        n_drafts = tokens - n_seqs
        duration_s = float(self.cost.decode_s(n_seqs, n_drafts, lane.context_tokens, lane.passes()))
        start_s = self._clock_s
        return DecodeStep(start_s, start_s + duration_s, duration_s, n_seqs, lane.emitted(), blocks)

    def _jump(self, count: int) -> Run:
        """The next *count* steps, up to the one whose blocks or tokens do not fit; the first one does."""
        lane = self.lane
        n_seqs, gamma = len(lane), self.config.num_speculative_tokens
        window = lane.window(count)
        blocks = _sums(window[2], 0, _INT32)
        if blocks.item(-1) > self.cache.num_free:
            count = int(blocks.searchsorted(self.cache.num_free, side="right"))
        emitted = None
        if gamma:
            over = window[1, :count] > self.scheduler.max_decode_tokens() - n_seqs
            if over.any():
                count = int(over.argmax())
            emitted = _sums(window[0, :count], 0, _INT64)
            context: F64 | I64 = np.subtract(emitted, window[0, :count])
            context += lane.context_tokens
            durations = self.cost.decode_s(float(n_seqs), window[1, :count], context, lane.draft_passes(count))
        else:  # each sequence emits one token a step
            context = _STEPS[:count] * float(n_seqs)
            context += float(lane.context_tokens)
            durations = self.cost.decode_s(float(n_seqs), 0.0, context, 0.0)
        run = durations if isinstance(durations, np.ndarray) else np.full(count, durations)
        ends_s = _sums(run)
        ends_s += self._clock_s
        return Run(self._clock_s, n_seqs, ends_s, run, emitted, blocks, count, ends_s.item(-1))

    def _complete_run(self, run: Run | DecodeStep) -> None:
        """Account for the steps of *run* and act on what ended with them."""
        count, n_seqs = run.n_steps, run.n_seqs
        self.cache.take(run.blocks_of(count))
        run.enter(self.ledger)
        self.work.add((run.start_s, run.end_s, count, n_seqs, 0, 0.0))
        self._end(self.lane.advance(count, run.emitted_by(count)))

    def _complete_step(self, step: Step) -> None:
        """Account for a planned step and act on what ended with it."""
        self.ledger.add_step(step.end_s, step.duration_s, step.share_s)
        self.work.add((step.start_s, step.end_s, 1, step.n_seqs, step.prefill_tokens, step.load_s))
        finished = self.lane.advance(1, self.lane.emitted())
        self._end(finished + self._start_decoding(step.plan))

    def _end(self, finished: list[Sequence]) -> None:
        for sequence in sorted(finished, key=attrgetter("order")) if len(finished) > 1 else finished:
            self._finish(sequence)
        self._log_load(self._clock_s)

    def _log_load(self, now_s: float) -> None:
        scheduler, cache = self.scheduler, self.cache
        self.load.add((now_s, len(scheduler.running), scheduler.waiting.size, cache.num_blocks - cache.num_free))

    def _start_decoding(self, plan: StepPlan) -> list[Sequence]:
        """Emit the token of each finished prefill; return the sequences that need no more."""
        ended = []
        for sequence in self.scheduler.computed(plan):
            request = self._live[sequence.id]
            if request.first_token_s is None:
                request.first_token_s = self._clock_s
            else:
                self._resumed.extend((sequence.id, self.lane.step - 1))
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
