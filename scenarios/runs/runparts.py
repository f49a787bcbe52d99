"""Parts of a run's figures that only some runs have: objectives, replicas, energy, and where session time goes."""

from __future__ import annotations

import msgspec
import numpy as np

from scenarios.resolve.measure import Measure
from scenarios.resolve.platform import Platform
from simulator.energy import energy
from simulator.goodput import goodput
from simulator.metrics import hit_rates
from simulator.replay import Replay
from simulator.sessiontime import session_times
from simulator.window import Window
from simulator.workload import Workload


class SloRow(msgspec.Struct, frozen=True, kw_only=True):
    """One latency objective."""

    metric: str
    limit_ms: float
    value_ms: float | None
    """What the wanted share of requests stays within; None if fewer ever had the metric (refused requests)."""
    attainment: float
    """Share of the measured requests that meet the limit."""
    met: bool
    """Whether the attainment reaches slo_attainment."""


class Goodput(msgspec.Struct, frozen=True, kw_only=True):
    """All objectives together."""

    slo_attainment: float
    """The share wanted."""
    attainment: float
    """Share of the measured requests that meet every limit."""
    met: bool
    request_goodput_per_s: float
    """Accepted requests that meet every limit, per second."""
    token_goodput_per_s: float
    """Their output tokens per second."""
    slos: list[SloRow]


class ReplicaRow(msgspec.Struct, frozen=True, kw_only=True):
    """One replica of several."""

    role: str
    """prefill, decode or both."""
    requests: int
    """Attempts that it served."""
    busy_s: float
    utilization: float
    """busy seconds / wall seconds."""
    n_steps: int
    prefix_cache_hit_rate_tokens: float
    max_kv_cache_usage: float
    max_num_requests_running: int
    max_num_requests_waiting: int
    num_evicted_blocks: int


class EnergyUse(msgspec.Struct, frozen=True, kw_only=True):
    """Energy of the GPU boards of all replicas; hosts, cooling and networks are not in it."""

    joules: float
    mean_watts: float
    joules_per_output_token: float | None
    kwh_per_1000_tasks: float | None
    """A task is a session."""


def goodput_part(replay: Replay, workload: Workload, measured: Window, measure: Measure) -> Goodput | None:
    """Goodput, if objectives are set."""
    if not measure.slos:
        return None
    result = goodput(replay, workload, measured, measure.slos, measure.slo_attainment)
    rows = [
        SloRow(
            metric=one.slo.metric.value,
            limit_ms=one.slo.limit_s * 1e3,
            value_ms=None if one.value_s is None else one.value_s * 1e3,
            attainment=one.attainment,
            met=one.attainment >= measure.slo_attainment,
        )
        for one in result.slos
    ]
    return Goodput(
        slo_attainment=measure.slo_attainment,
        attainment=result.attainment,
        met=result.attainment >= measure.slo_attainment,
        request_goodput_per_s=result.request_goodput_per_s,
        token_goodput_per_s=result.token_goodput_per_s,
        slos=rows,
    )


def replica_rows(replay: Replay) -> list[ReplicaRow]:
    """A row a replica; none for a single one."""
    if len(replay.replicas) == 1:
        return []
    prefill = replay.config.cluster.num_prefill_replicas
    duration_s = max(replay.duration_s, 1e-12)
    rows = []
    for index, log in enumerate(replay.replicas):
        role = "both" if not prefill else "prefill" if index < prefill else "decode"
        served = (replay.decode_replica if role == "decode" else replay.replica) == index
        peaks = {name: float(column.max(initial=0.0)) for name, column in log.load.items()}
        rows.append(
            ReplicaRow(
                role=role,
                requests=int(np.count_nonzero(served & replay.done)),
                busy_s=log.busy_s,
                utilization=log.busy_s / duration_s,
                n_steps=log.n_steps,
                prefix_cache_hit_rate_tokens=0.0 if role == "decode" else hit_rates(replay, served)[0],
                max_kv_cache_usage=peaks["used_blocks"] / replay.config.engine.num_gpu_blocks,
                max_num_requests_running=int(peaks["num_requests_running"]),
                max_num_requests_waiting=int(peaks["num_requests_waiting"]),
                num_evicted_blocks=log.num_evicted_blocks,
            )
        )
    return rows


def energy_part(replay: Replay, workload: Workload, platform: Platform) -> EnergyUse:
    """Energy of all replicas over the whole replay."""
    boards = platform.power if replay.config.engine.num_speculative_tokens else platform.baseline_power
    count = len(replay.replicas)
    used = energy(
        boards * count,
        busy_s=replay.busy_s / count,
        duration_s=replay.duration_s,
        output_tokens=int(replay.output_tokens[replay.done & ~workload.attempt_rejected].sum()),
        tasks=workload.n_sessions,
    )
    return EnergyUse(
        joules=used.joules,
        mean_watts=used.mean_watts,
        joules_per_output_token=used.joules_per_output_token,
        kwh_per_1000_tasks=used.kwh_per_1000_tasks,
    )


def session_shares(replay: Replay, workload: Workload, measured: Window) -> dict[str, float]:
    """Shares of the time of all measured sessions: decode, prefill, queue, tool_wait; empty without session time."""
    times = {name: values[measured.sessions] for name, values in session_times(replay, workload).items()}
    total = float(sum(np.nansum(values) for values in times.values()))
    if not total:
        return {}
    return {name.removesuffix("_s"): float(np.nansum(values)) / total for name, values in times.items()}
