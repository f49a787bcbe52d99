"""What a plan chooses from: options by key, the flags that list their values, and the values by default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

AXES = ("gpu", "tensor_parallel_size", "gamma", "kv_offload_gb", "router")
FLAGS = dict(zip(AXES, ("--gpus", "--tensor-parallel", "--gammas", "--kv-offload", "--routers"), strict=True))
ROUTERS = "least-loaded,session-affinity,prefix-aware"
"""Those that look at replicas or sessions; round-robin does neither."""
DEFAULTS = dict(zip(AXES, ("H200,H100-SXM,L40S", "1,2,4", "0,3,8", "0", ROUTERS), strict=True))
FIXED = (
    *AXES, "replicas", "prefill_replicas", "max_concurrency", "self_timed", "speedup", "arrival_profile",
    "metric_percentiles", "warmup_s", "num_warmups", "drain_s",
)  # fmt: skip
"""Settings that a plan chooses, or that make no sense of traffic at a steady rate."""


def chosen_axes(listed: Mapping[str, str | None], own: Mapping[str, Any]) -> tuple[dict[str, str], list[str]]:
    """What a plan chooses from, by key, and a note for each axis that has one value of *own* options.

    *listed* has the lists that were asked for; without one, *own* (a scenario's options) gives the one value, else the
    default list holds.
    """
    axes: dict[str, str] = {}
    notes = []
    for key in AXES:
        text = listed.get(key)
        if text is None and own.get(key) is not None:
            text = str(own[key])
            notes.append(f"{key} is {text} alone, as scenario or environment have it; {FLAGS[key]} compares others")
        axes[key] = DEFAULTS[key] if text is None else text
    return axes, notes
