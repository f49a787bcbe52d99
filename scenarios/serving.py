"""What a user can set about replicas and about what is measured; None means: take the documented default."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOptions:
    """Replicas, their router, and where KV may go beside the GPU."""

    replicas: int = 1
    router: str | None = None
    prefill_replicas: int = 0
    """How many of the replicas only prefill."""
    kv_transfer_gb_per_s: float | None = None
    """From a prefill to a decode replica, in 10^9 bytes."""
    kv_offload_gb: float = 0.0
    """Host memory of each replica for evicted blocks, in 10^9 bytes."""
    kv_offload_gb_per_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureOptions:
    """Percentiles, latency objectives, and what is cut."""

    metric_percentiles: str = "50,90,95,99"
    goodput: tuple[str, ...] = ()
    """Objectives as ``ttft:500``, in milliseconds."""
    slo_attainment: float = 0.99
    """Share of requests that must meet an objective for it to be met."""
    warmup_s: float = 0.0
    num_warmups: int = 0
    drain_s: float = 0.0
