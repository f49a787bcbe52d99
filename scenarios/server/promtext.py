"""Reads vLLM's metrics endpoint: one dump, or the difference of two."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
from prometheus_client.parser import text_string_to_metric_families

from scenarios.server.run import ServerRun
from traces.errors import TraceError

Samples = dict[tuple[str, str], float]
"""Values by sample name and draft position or bucket, summed over all other labels."""

PREFIX = "vllm:"
_TPOT = f"{PREFIX}request_time_per_output_token_seconds"


def read_metrics(path: Path, earlier: Path | None = None) -> ServerRun:
    """The run up to the dump at *path*, since the one at *earlier* if given.

    Raises TraceError for text that is no metrics dump, and where a counter fell: the server restarted in between.
    """
    samples = _read(path)
    if earlier is not None:
        before = _read(earlier)
        for name, value in before.items():
            samples[name] = samples.get(name, 0.0) - value
            if samples[name] < 0:
                raise TraceError(
                    str(path),
                    None,
                    f"counter {name[0]} is below that of {earlier}",
                    "take both dumps from one server run",
                )
    return _run(samples, str(path))


def _run(samples: Samples, source: str) -> ServerRun:
    def total(name: str) -> float | None:
        return samples.get((f"{PREFIX}{name}_total", ""))

    per_pos = {
        int(position): value
        for (name, position), value in samples.items()
        if name == f"{PREFIX}spec_decode_num_accepted_tokens_per_pos_total" and position
    }
    requests, seconds = (samples.get((f"{_TPOT}_{name}", ""), 0.0) for name in ("count", "sum"))
    return ServerRun(
        source=source,
        num_drafts=total("spec_decode_num_drafts") or 0.0,
        num_draft_tokens=total("spec_decode_num_draft_tokens") or 0.0,
        num_accepted_tokens=total("spec_decode_num_accepted_tokens") or 0.0,
        accepted_per_pos=tuple(per_pos[position] for position in sorted(per_pos)),
        tpot_s=seconds / requests if requests else None,
        tpot_error_s=_error_s(samples),
        num_requests=round(requests) if requests else None,
        num_output_tokens=total("generation_tokens"),
        prefix_queries_tokens=total("prefix_cache_queries"),
        prefix_hits_tokens=total("prefix_cache_hits"),
    )


def _error_s(samples: Samples) -> float | None:
    """Standard error of the mean time per output token, each request in the middle of its bucket.

    None where a request is beyond the last bound.
    """
    upto = sorted((float(bound), count) for (name, bound), count in samples.items() if name == f"{_TPOT}_bucket")
    bounds, counts = np.array(upto, dtype=np.float64).reshape(-1, 2).T
    inside = np.diff(counts, prepend=0.0)
    total = inside.sum()
    if total < 2 or (inside[np.isinf(bounds)] > 0).any():
        return None
    finite = np.isfinite(bounds)
    middle = (bounds[finite] + np.concatenate([[0.0], bounds[finite][:-1]])) / 2
    mean = float((middle * inside[finite]).sum()) / total
    return float(np.sqrt((inside[finite] * (middle - mean) ** 2).sum() / (total - 1) / total))


def _read(path: Path) -> Samples:
    """Counters, the sums and counts of histograms, and the buckets of the time per output token; no gauges."""
    found: Samples = defaultdict(float)
    try:
        for family in text_string_to_metric_families(path.read_text(encoding="utf-8")):
            for sample in family.samples:
                if sample.name == f"{_TPOT}_bucket":
                    found[sample.name, sample.labels["le"]] += sample.value
                elif sample.name.startswith(PREFIX) and sample.name.endswith(("_total", "_sum", "_count")):
                    found[sample.name, sample.labels.get("position", "")] += sample.value
    except ValueError as error:
        raise TraceError(
            str(path), None, f"not a Prometheus text dump ({error})", "save the server's /metrics page"
        ) from error
    if not found:
        raise TraceError(str(path), None, "holds no vLLM counters", "save the /metrics page of a vLLM server")
    return dict(found)
