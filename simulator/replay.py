"""One replay: wires workload, outcomes, engine and sessions, and returns what happened as columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

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
from simulator.outcomes import Outcomes
from simulator.replicalog import ReplicaLog, merged_load
from simulator.sessions import LoadConfig, SessionDriver
from simulator.workload import Workload, turn_names

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
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
    replica: I64
    """The replica that served the attempt, of the prefill pool if there are two."""
    decode_replica: I64
    num_preemptions: I64
    refused: Bool
    truncated: Bool
    by_step: Attribution
    session_start_s: F64
    session_end_s: F64
    duration_s: float
    """From the first arrival to the last finish."""
    busy_s: float
    """Sum of the durations of all engine steps."""
    n_steps: int
    num_evicted_blocks: int
    load: dict[str, F64]
    """Load over time, all replicas together (see LoadLog.table)."""
    replicas: tuple[ReplicaLog, ...]
    """What each replica did; the prefill pool comes first."""
    config: ReplayConfig

    @property
    def done(self) -> Bool:
        """Attempts that ran to their end."""
        return ~np.isnan(self.finish_s) & ~self.refused


def run(workload: Workload, config: ReplayConfig) -> Replay:
    """Replay *workload*. Equal arguments give equal results to the last bit.

    Raises RuntimeError if requests are left unfinished, which would be a fault of the engine.
    """
    prompts = workload.attempt_prompt_tokens
    labels, offsets, truncated = _truncate(workload, prompts, config.engine.max_model_len)
    outputs = Outputs(labels, offsets, attempt_keys(workload, config.seed), prompts)
    outcomes = Outcomes(outputs, config.acceptance, config.engine)
    env = simpy.Environment()
    requests = [
        Request(attempt, tokens, path)
        for attempt, (tokens, path) in enumerate(zip(prompts.tolist(), workload.paths.paths, strict=True))
    ]
    last_attempts = workload.turn_attempts[1:][workload.attempt_turn].tolist()

    def finished(request: Request) -> None:
        if request.refused:  # its further draws are not tried
            for other in requests[request.id + 1 : last_attempts[request.id]]:
                other.refused, other.arrival_s, other.finish_s = True, env.now, env.now
        driver.done(request.id, failed=request.refused)

    parts = ClusterParts(config.engine, config.cost, outcomes, workload.paths.num_identities)
    session_of = workload.turn_session[workload.attempt_turn].tolist()
    cluster = Cluster(env, config.cluster, parts, session_of, finished)
    driver = SessionDriver(env, workload, config.load, config.seed, lambda attempt: cluster.submit(requests[attempt]))
    driver.start()
    env.run()
    _check(requests, cluster)
    return _result(requests, cluster, driver, outcomes, outputs, truncated, config)


def _result(
    requests: list[Request],
    cluster: Cluster,
    driver: SessionDriver,
    outcomes: Outcomes,
    outputs: Outputs,
    truncated: Bool,
    config: ReplayConfig,
) -> Replay:
    times: dict[str, Any] = {name: _times(requests, name) for name in _TIMES}
    columns: dict[str, Any] = {name: np.array([getattr(request, name) for request in requests]) for name in _COLUMNS}
    logs = tuple(ReplicaLog.of(replica) for replica in cluster.replicas)
    by_step = attribute(
        [(replica.ledger, replica.lane.segments) for replica in cluster.replicas],
        outcomes.store(),
        outputs.labels,
        outputs.offsets,
        times["first_token_s"],
        config.engine.num_speculative_tokens,
    )
    return Replay(
        **times,
        **columns,
        prompt_tokens=np.array([request.prompt_tokens for request in requests]),
        output_tokens=np.diff(outputs.offsets),
        labels=outputs.labels,
        offsets=outputs.offsets,
        keys=outputs.keys,
        truncated=truncated,
        by_step=by_step,
        session_start_s=driver.session_start_s,
        session_end_s=driver.session_end_s,
        duration_s=_duration(requests),
        busy_s=sum(log.busy_s for log in logs),
        n_steps=sum(log.n_steps for log in logs),
        num_evicted_blocks=sum(log.num_evicted_blocks for log in logs),
        load=merged_load([log.load for log in logs]),
        replicas=logs,
        config=config,
    )


_TIMES = ("arrival_s", "scheduled_s", "first_token_s", "finish_s")
_COLUMNS = (
    "hit_tokens",
    "host_hit_tokens",
    "prefill_gpu_s",
    "draft_prefill_gpu_s",
    "kv_load_s",
    "kv_transfer_s",
    "replica",
    "decode_replica",
    "num_preemptions",
    "refused",
)


def attempt_keys(workload: Workload, seed: int) -> npt.NDArray[np.uint64]:
    """One key an attempt, from its names: equal whatever the order or the number of replicas."""
    counts = np.diff(workload.turn_attempts).tolist()
    keys = [
        rng.key(seed, *names, draw, "acceptance")
        for names, count in zip(turn_names(workload), counts, strict=True)
        for draw in range(count)
    ]
    return np.array(keys, dtype=np.uint64)


def _truncate(workload: Workload, prompts: I64, max_model_len: int) -> tuple[npt.NDArray[np.uint8], I64, Bool]:
    """Labels and offsets with outputs cut where prompt and output reach *max_model_len*; which were cut."""
    lengths = workload.output_tokens
    room = np.clip(max_model_len - prompts, 0, None)
    truncated = lengths > room
    if not truncated.any():
        return workload.labels, workload.offsets, truncated
    kept = np.minimum(lengths, room)
    position = np.arange(workload.labels.size) - np.repeat(workload.offsets[:-1], lengths)
    labels = workload.labels[position < np.repeat(kept, lengths)]
    return labels, np.concatenate([[0], np.cumsum(kept)]), truncated


def _check(requests: list[Request], cluster: Cluster) -> None:
    for replica in cluster.replicas:
        replica.check()
    left = [request.id for request in requests if request.finish_s is None]
    if left:
        raise RuntimeError(f"{len(left)} of {len(requests)} requests were never finished, the first is {left[0]}")


def _times(requests: list[Request], name: str) -> F64:
    values = (getattr(request, name) for request in requests)
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _duration(requests: list[Request]) -> float:
    finish = max((request.finish_s for request in requests if request.finish_s is not None), default=0.0)
    return finish - min((request.arrival_s for request in requests), default=0.0)
