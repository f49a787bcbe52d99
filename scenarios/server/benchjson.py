"""Reads the result file of vLLM's serving benchmark."""

from __future__ import annotations

from math import sqrt
from pathlib import Path

import msgspec

from scenarios.server.run import ServerRun
from traces.errors import TraceError


class _BenchResult(msgspec.Struct):
    completed: int
    mean_tpot_ms: float
    std_tpot_ms: float | None = None
    total_output_tokens: float | None = None
    spec_decode_num_drafts: float = 0.0
    spec_decode_draft_tokens: float = 0.0
    spec_decode_accepted_tokens: float = 0.0
    spec_decode_per_position_acceptance_rates: list[float] = []


def read_bench(path: Path) -> ServerRun:
    """The run of a benchmark result. Raises TraceError for a file of another form, and one without completed requests.

    Its inter-token latency is not used: under speculation it is the time per chunk, not per token.
    """
    try:
        result = msgspec.json.decode(path.read_bytes(), type=_BenchResult)
    except msgspec.DecodeError as error:
        raise TraceError(
            str(path), None, f"not a serving benchmark result ({error})", "save it with --save-result"
        ) from error
    if result.completed == 0:
        raise TraceError(str(path), None, "no request completed", "repeat the benchmark")
    drafts = result.spec_decode_num_drafts
    return ServerRun(
        source=str(path),
        num_drafts=drafts,
        num_draft_tokens=result.spec_decode_draft_tokens,
        num_accepted_tokens=result.spec_decode_accepted_tokens,
        accepted_per_pos=tuple(rate * drafts for rate in _fractions(result)),
        tpot_s=result.mean_tpot_ms / 1000,
        tpot_error_s=None if result.std_tpot_ms is None else result.std_tpot_ms / 1000 / sqrt(result.completed),
        num_requests=result.completed,
        num_output_tokens=result.total_output_tokens,
    )


def _fractions(result: _BenchResult) -> list[float]:
    """Per-position rates as fractions: versions print them as such or in percent; their sum is known either way."""
    rates = result.spec_decode_per_position_acceptance_rates
    if not result.spec_decode_num_drafts:
        return rates
    expected = result.spec_decode_accepted_tokens / result.spec_decode_num_drafts
    in_percent = abs(sum(rates) / 100 - expected) < abs(sum(rates) - expected)
    return [rate / 100 for rate in rates] if in_percent else rates
