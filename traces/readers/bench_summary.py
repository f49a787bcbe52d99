"""Summaries of serving benchmarks: recognised in order to be refused, since they hold no requests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traces.model import Session
from traces.readers.base import JsonReader
from traces.readlog import ReadLog
from traces.records import Json
from traces.source import SourceFile

_MARKS = ("request_throughput", "output_throughput", "total_output_tokens", "total_input_tokens", "completed")
_LATENCIES = ("ttft", "tpot", "itl", "e2el")


class BenchSummaryReader(JsonReader):
    """Refuses the result files of ``vllm bench serve`` and of its kin."""

    name = "bench-summary"
    title = "benchmark summaries (no trace: for `simtool calibrate`)"

    def score(self, rows: list[Json]) -> float:
        """Totals and throughputs beside latency statistics."""
        row = rows[0]
        marks = sum(mark in row for mark in _MARKS)
        latencies = any(name in key for key in row for name in _LATENCIES)
        return 0.9 if marks > 2 and latencies else 0.0

    def read(self, files: Sequence[SourceFile], log: ReadLog) -> Iterator[Session]:
        """Yield nothing; summaries inside a folder are counted. Raises TraceError for one named by itself."""
        for file in files:
            if file.in_folder:
                log.omit("benchmark summary (for simtool calibrate)")
                continue
            log.invalid(
                file.name,
                None,
                "a benchmark summary holds totals and latencies, no requests to replay",
                "give it to `simtool calibrate`",
                kind="benchmark summary",
            )
        yield from ()


READER = BenchSummaryReader()
