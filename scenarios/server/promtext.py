"""Reads vLLM's metrics endpoint: one dump, or the difference of two."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from scenarios.server.run import ServerRun
from traces.errors import TraceError

Samples = dict[tuple[str, str], float]
"""Values by sample name and draft position, summed over all other labels."""

PREFIX = "vllm:"


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
    requests = samples.get((f"{PREFIX}request_time_per_output_token_seconds_count", ""), 0.0)
    seconds = samples.get((f"{PREFIX}request_time_per_output_token_seconds_sum", ""), 0.0)
    return ServerRun(
        source=source,
        num_drafts=total("spec_decode_num_drafts") or 0.0,
        num_draft_tokens=total("spec_decode_num_draft_tokens") or 0.0,
        num_accepted_tokens=total("spec_decode_num_accepted_tokens") or 0.0,
        accepted_per_pos=tuple(per_pos[position] for position in sorted(per_pos)),
        tpot_s=seconds / requests if requests else None,
        prefix_queries_tokens=total("prefix_cache_queries"),
        prefix_hits_tokens=total("prefix_cache_hits"),
    )


def _read(path: Path) -> Samples:
    """Counters and the sums and counts of histograms; gauges and buckets are left out."""
    found: Samples = defaultdict(float)
    try:
        for family in text_string_to_metric_families(path.read_text(encoding="utf-8")):
            for sample in family.samples:
                if sample.name.startswith(PREFIX) and sample.name.endswith(("_total", "_sum", "_count")):
                    found[sample.name, sample.labels.get("position", "")] += sample.value
    except ValueError as error:
        raise TraceError(
            str(path), None, f"not a Prometheus text dump ({error})", "save the server's /metrics page"
        ) from error
    if not found:
        raise TraceError(str(path), None, "holds no vLLM counters", "save the /metrics page of a vLLM server")
    return dict(found)
