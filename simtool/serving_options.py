"""Options of replay about replicas, objectives, what is measured, and the timeline, grouped as --help shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from simtool.options import CACHE, OUTPUT

CLUSTER = "Replicas"
METRICS = "Metrics and objectives"

Replicas = Annotated[int, typer.Option("--replicas", min=1, help="Engines behind the router.", rich_help_panel=CLUSTER)]
Router = Annotated[
    str | None,
    typer.Option(
        "--router",
        help="round-robin, least-loaded (default), session-affinity or prefix-aware.",
        rich_help_panel=CLUSTER,
    ),
]
PrefillReplicas = Annotated[
    int,
    typer.Option("--prefill-replicas", min=0, help="How many of them only prefill.", rich_help_panel=CLUSTER),
]
KvTransfer = Annotated[
    float | None,
    typer.Option(
        "--kv-transfer-gb-per-s", help="KV from a prefill to a decode replica (50 GB/s).", rich_help_panel=CLUSTER
    ),
]
KvOffload = Annotated[
    float,
    typer.Option("--kv-offload-gb", help="Host memory a replica for evicted KV blocks.", rich_help_panel=CACHE),
]
KvOffloadRate = Annotated[
    float | None,
    typer.Option("--kv-offload-gb-per-s", help="Loading from it (50 GB/s).", rich_help_panel=CACHE),
]
MetricPercentiles = Annotated[
    str, typer.Option("--metric-percentiles", metavar="P,P..", help="Percentiles.", rich_help_panel=METRICS)
]
GoodputOption = Annotated[
    list[str] | None,
    typer.Option(
        "--goodput",
        metavar="METRIC:MS",
        help="Objectives in ms: ttft, tpot, itl, e2el; repeat, or separate by commas.",
        rich_help_panel=METRICS,
    ),
]
SloAttainment = Annotated[
    float,
    typer.Option("--slo-attainment", help="Share of requests that must meet an objective.", rich_help_panel=METRICS),
]
FailOnSlo = Annotated[
    bool,
    typer.Option("--fail-on-slo", help="Exit with 4 if fewer meet all objectives.", rich_help_panel=METRICS),
]
WarmupS = Annotated[
    float,
    typer.Option(
        "--warmup-s", help="Cut requests that arrive in the first seconds from metrics.", rich_help_panel=METRICS
    ),
]
NumWarmups = Annotated[
    int, typer.Option("--num-warmups", help="Cut the first requests to arrive.", rich_help_panel=METRICS)
]
DrainS = Annotated[
    float,
    typer.Option("--drain-s", help="Cut requests that finish in the last seconds.", rich_help_panel=METRICS),
]
Timeline = Annotated[
    Path | None,
    typer.Option("--timeline", metavar="FILE", help="Timeline as JSON for ui.perfetto.dev.", rich_help_panel=OUTPUT),
]
TimelineEvents = Annotated[
    int,
    typer.Option("--timeline-events", min=1, help="Slices in it at most; later ones are cut.", rich_help_panel=OUTPUT),
]
