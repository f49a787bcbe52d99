"""What a user can set about replicas and about what is measured; None means: take the documented default."""

from __future__ import annotations

from dataclasses import dataclass

from scenarios.options.option import Section, option
from simulator.router import DEFAULT_ROUTER, router_names
from simulator.slo import SloMetric

_REPLICAS, _CACHE, _SLO = Section.REPLICAS, Section.CACHE, Section.SLO


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOptions:
    """Replicas, their router, and where KV may go beside the GPU."""

    replicas: int = option(1, "Engines behind the router.", _REPLICAS, least=1)
    router: str | None = option(
        None,
        f"How requests are spread: {', '.join(router_names())}; default: {DEFAULT_ROUTER}.",
        _REPLICAS,
        known="scenarios.options.names:routers",
    )
    prefill_replicas: int = option(0, "How many of them only prefill.", _REPLICAS, least=0)
    kv_transfer_gb_per_s: float | None = option(None, "KV from a prefill to a decode replica (50 GB/s).", _REPLICAS)
    """From a prefill to a decode replica, in 10^9 bytes."""
    kv_offload_gb: float = option(0.0, "Host memory a replica for evicted KV blocks.", _CACHE)
    """Host memory of each replica for evicted blocks, in 10^9 bytes."""
    kv_offload_gb_per_s: float | None = option(None, "Loading from it (50 GB/s).", _CACHE)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureOptions:
    """Percentiles, latency objectives, and what is cut."""

    metric_percentiles: str = option("50,90,95,99", "Percentiles.", _SLO, metavar="P,P..")
    goodput: tuple[str, ...] = option(
        (), f"Objectives in ms: {', '.join(SloMetric)}; repeat, or separate by commas.", _SLO, metavar="METRIC:MS"
    )
    """Objectives as ``ttft:500``, in milliseconds."""
    slo_attainment: float = option(0.99, "Share of requests that must meet an objective.", _SLO)
    """Share of requests that must meet an objective for it to be met."""
    warmup_s: float = option(0.0, "Cut requests that arrive in the first seconds from metrics.", _SLO)
    num_warmups: int = option(0, "Cut the first requests to arrive.", _SLO)
    drain_s: float = option(0.0, "Cut requests that finish in the last seconds.", _SLO)
