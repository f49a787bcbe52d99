"""One replay: wires workload, outcomes, engine and sessions, and returns what happened as columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import simpy

from simulator import rng
from simulator.acceptance.base import AcceptanceModel, Outputs
from simulator.attribution import Attribution, attribute
from simulator.cluster import Cluster, ClusterConfig, ClusterParts
from simulator.config import EngineConfig
from simulator.cost import CostModel
from simulator.engine import Request
from simulator.gaps import Gaps, find_gaps
from simulator.ledger import Table
from simulator.longcolumns import LongColumn, apart, full_apart, gathered, let_go_all, narrow, zeros_apart
from simulator.outcomes import Outcomes
from simulator.replicalog import ReplicaLog, merged_load
from simulator.sessions import LoadConfig, SessionDriver
from simulator.workload import Workload, each_turn_names

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]
Bool = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayConfig:
    """Everything that a replay depends on beside the workload."""

    engine: EngineConfig
    cost: CostModel
    acceptance: AcceptanceModel | None
    """None: no speculation."""
    load: LoadConfig = field(default_factory=LoadConfig)
    cluster: ClusterConfig = field(default_factory=ClusterConfig)
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Replay:
    """What a replay came to. Arrays have one entry an attempt; times are NaN where it did not come so far."""

    arrival_s: F64
    scheduled_s: F64
    first_token_s: F64
    finish_s: F64
    prompt_tokens: I64
    output_tokens: I64
    """Tokens emitted: cut where max_model_len ends the output."""
    labels: npt.NDArray[np.uint8]
    """Sub-classes of the output tokens that were emitted, attempt by attempt."""
    offsets: I64
    """Attempt a owns labels[offsets[a]:offsets[a + 1]]."""
    keys: npt.NDArray[np.uint64]
    """Random keys of the attempts."""
    hit_tokens: I64
    host_hit_tokens: I64
    """Tokens loaded from host memory, which hit_tokens contains."""
    prefill_gpu_s: F64
    draft_prefill_gpu_s: F64
    kv_load_s: F64
    """GPU seconds that steps waited for blocks from host memory."""
    kv_transfer_s: F64
    """Time that KV was on its way from a prefill to a decode replica."""
    replica: I32
    """The replica that served the attempt, of the prefill pool if there are two."""
    decode_replica: I32
    num_preemptions: I32
    refused: Bool
    """Never run: they did not fit into max_model_len, or were abandoned."""
    abandoned: Bool
    """Never sent: their session was ended before."""
    truncated: Bool
    by_step: Attribution
    gaps: Gaps
    """Times between the emissions of each attempt."""
    session_start_s: F64
    session_end_s: F64
    duration_s: float
    """From the first arrival to the last finish."""
    busy_s: float
    """Sum of the durations of all engine steps."""
    n_steps: int
    num_evicted_blocks: int
    load: Table
    """Load over time, all replicas together (see LoadLog)."""
    replicas: tuple[ReplicaLog, ...]
    """What each replica did; the prefill pool comes first."""
    config: ReplayConfig

    @property
    def done(self) -> Bool:
        """Attempts that ran to their end."""
        return ~np.isnan(self.finish_s) & ~self.refused


Watch = Callable[[int, int], None]
"""Is told how many requests have ended, and of how many."""


def run(workload: Workload, config: ReplayConfig, watch: Watch | None = None) -> Replay:
    """Replay *workload*. Equal arguments give equal results to the last bit; *watch* changes nothing.

    Raises RuntimeError if requests are left unfinished, which would be a fault of the engine.
    """
    prompts = apart(workload.attempt_prompt_tokens)
    labels, offsets, truncated = _truncate(workload, prompts, config.engine.max_model_len)
    outputs = Outputs(labels, offsets, attempt_keys(workload, config.seed), prompts)
    outcomes = Outcomes(outputs, config.acceptance, config.engine)
    ran = _simulate(workload, config, outcomes, _Record(prompts, watch))
    replay = _result(ran, outcomes, outputs, truncated, config)
    let_go_all()
    return replay


class _Traces(NamedTuple):
    """What one replica leaves behind."""

    end_s: F64
    """End of each step."""
    share_s: F64
    """What a sequence pays for each step."""
    segments: I64
    resumed: I64
    log: ReplicaLog


class _Ran(NamedTuple):
    """What a simulation leaves behind."""

    record: _Record
    traces: list[_Traces]
    session_start_s: F64
    session_end_s: F64
    abandoned: Bool


def _simulate(workload: Workload, config: ReplayConfig, outcomes: Outcomes, record: _Record) -> _Ran:
    """Run clients and replicas to the end; they, and the memory that they take, are gone afterwards."""
    env = simpy.Environment()

    def finished(request: Request) -> None:
        record.add(request)
        if request.refused:  # its further draws are not tried
            for other in range(request.id + 1, workload.end_of_draws(request.id)):
                record.add(Request(other, 0, arrival_s=env.now, finish_s=env.now, refused=True))
        driver.done(request.id, failed=request.refused)

    def abandoned(attempt: int) -> None:
        left_out[attempt] = True
        record.add(Request(attempt, 0, arrival_s=env.now, finish_s=env.now, refused=True))

    left_out = np.zeros(workload.n_attempts, dtype=np.bool_)
    session_of = narrow(workload.attempt_session).data
    paths, lengths = workload.paths.paths, record.prompt_tokens.data

    def request(attempt: int) -> Request:
        return Request(attempt, lengths[attempt], partial(paths.__getitem__, attempt))

    def send(attempt: int) -> None:
        cluster.submit(request(attempt))

    parts = ClusterParts(config.engine, config.cost, outcomes, workload.paths.num_identities, request)
    cluster = Cluster(env, config.cluster, parts, session_of, finished)

    driver = SessionDriver(env, workload, config.load, config.seed, send, abandoned)
    driver.start()
    env.run()
    record.settle()
    _check(record, cluster)
    traces = [
        _Traces(*replica.ledger.take(), replica.lane.segments.take_rows(), replica.resumed, log=ReplicaLog.of(replica))
        for replica in cluster.replicas
    ]
    cluster.close()
    return _Ran(record, traces, driver.session_start_s, driver.session_end_s, left_out)


class _Record:
    """What the requests came to: a column of each figure, filled as they finish."""

    def __init__(self, prompt_tokens: I64, watch: Watch | None) -> None:
        self._watch = watch
        self._ended = 0
        count = self.size = prompt_tokens.size
        self.prompt_tokens = prompt_tokens
        self.columns: dict[str, npt.NDArray[Any]] = {name: full_apart(count, np.nan, np.float64) for name in _TIMES}
        self.columns |= zeros_apart(count, _FIGURES)
        self._rows: list[float] = []
        self._row_of = attrgetter("id", *self.columns)

    def add(self, request: Request) -> None:
        """Write down *request*, which is done or refused."""
        row = self._row_of(request)
        self._rows.extend([np.nan if figure is None else figure for figure in row] if request.refused else row)
        self._ended += 1
        if self._watch is not None:
            self._watch(self._ended, self.size)
        if len(self._rows) > _PENDING_FIGURES:
            self.settle()

    def settle(self) -> None:
        """Bring the columns up to date."""
        if self._rows:
            rows = np.array(self._rows).reshape(-1, 1 + len(self.columns))
            numbers = rows[:, 0].astype(np.int64)
            for (name, column), figures in zip(self.columns.items(), rows.T[1:], strict=True):
                if name in _TIMES or figures.any():  # zeros are there already, in memory that may not be touched yet
                    column[numbers] = figures
            self._rows.clear()
            let_go_all()


def _result(ran: _Ran, outcomes: Outcomes, outputs: Outputs, truncated: Bool, config: ReplayConfig) -> Replay:
    columns: dict[str, Any] = ran.record.columns
    logs = tuple(trace.log for trace in ran.traces)
    by_step = attribute(
        [(trace.share_s, trace.segments) for trace in ran.traces],
        outcomes.store(),
        outputs.labels,
        outputs.offsets,
        config.engine.num_speculative_tokens,
    )
    emissions = [(trace.end_s, trace.segments, trace.resumed) for trace in ran.traces]
    return Replay(
        **columns,
        prompt_tokens=ran.record.prompt_tokens,
        output_tokens=apart(np.diff(outputs.offsets)),
        labels=outputs.labels,
        offsets=outputs.offsets,
        keys=outputs.keys,
        truncated=truncated,
        by_step=by_step,
        gaps=find_gaps(emissions, columns["first_token_s"]),
        session_start_s=ran.session_start_s,
        session_end_s=ran.session_end_s,
        abandoned=ran.abandoned,
        duration_s=_duration(columns["arrival_s"], columns["finish_s"]),
        busy_s=sum(log.busy_s for log in logs),
        n_steps=sum(log.n_steps for log in logs),
        num_evicted_blocks=sum(log.num_evicted_blocks for log in logs),
        load=merged_load([log.load for log in logs]),
        replicas=logs,
        config=config,
    )


_KEYS = 1 << 16
"""Keys that are made at a time."""
_PENDING_FIGURES = 1 << 14
"""Figures of finished requests that are held back, so that columns are written many at a time."""
_TIMES = ("arrival_s", "scheduled_s", "first_token_s", "finish_s")
_FIGURES = {
    "hit_tokens": np.int64,
    "host_hit_tokens": np.int64,
    "prefill_gpu_s": np.float64,
    "draft_prefill_gpu_s": np.float64,
    "kv_load_s": np.float64,
    "kv_transfer_s": np.float64,
    "replica": np.int32,
    "decode_replica": np.int32,
    "num_preemptions": np.int32,
    "refused": np.bool_,
}


def attempt_keys(workload: Workload, seed: int) -> npt.NDArray[np.uint64]:
    """One key an attempt, from its names: equal whatever the order or the number of replicas."""
    counts = np.diff(workload.turn_attempts)
    keys = (
        rng.key(seed, *names, draw, "acceptance")
        for names, count in zip(each_turn_names(workload), counts.data, strict=True)
        for draw in range(count)
    )
    column = LongColumn(np.uint64)
    while (block := np.fromiter(islice(keys, _KEYS), dtype=np.uint64)).size:
        column.append(block)
    return column.array()


def _truncate(workload: Workload, prompts: I64, max_model_len: int) -> tuple[npt.NDArray[np.uint8], I64, Bool]:
    """Labels and offsets with outputs cut where prompt and output reach *max_model_len*; which were cut."""
    lengths = workload.output_tokens
    room = np.clip(max_model_len - prompts, 0, None)
    truncated = lengths > room
    if not truncated.any():
        return workload.labels, workload.offsets, truncated
    kept = np.minimum(lengths, room)
    labels, offsets = gathered(workload.labels, workload.offsets[:-1], kept)
    return labels, apart(offsets), truncated


def _check(record: _Record, cluster: Cluster) -> None:
    for replica in cluster.replicas:
        replica.check()
    left = np.flatnonzero(np.isnan(record.columns["finish_s"]))
    if left.size:
        raise RuntimeError(f"{left.size} of {record.size} requests were never finished, the first is {left[0]}")


def _duration(arrival_s: F64, finish_s: F64) -> float:
    return float(finish_s.max() - arrival_s.min()) if finish_s.size else 0.0
