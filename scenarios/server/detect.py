"""What kind of server output a file is, by its content."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

import msgspec

from scenarios.server.perrequest import holds_requests
from scenarios.server.promtext import PREFIX
from traces.errors import TraceError

STANDARD_INPUT = Path("-")
_HEAD_BYTES = 1 << 20


class Kind(StrEnum):
    """Inputs of a calibration."""

    METRICS = "metrics"
    """A dump of vLLM's /metrics page."""
    LOG = "log"
    """A server log with speculation lines."""
    BENCH = "bench"
    """A result of vllm bench serve."""
    REQUESTS = "requests"
    """Responses with per-request speculation figures."""
    TRACE = "trace"
    """A recording, whose attempts may carry their rounds."""


def kind_of(path: Path) -> Kind:
    """The kind of the file at *path*; anything not known otherwise is taken for a recording, and so is ``-``.

    Raises TraceError if it cannot be read.
    """
    try:
        if path == STANDARD_INPUT or path.is_dir():
            return Kind.TRACE
        with path.open("rb") as stream:
            head = stream.read(_HEAD_BYTES)
    except OSError as error:
        raise TraceError(str(path), None, error.strerror or str(error), "give a file that can be read") from error
    if b"SpecDecoding metrics:" in head:
        return Kind.LOG
    if any(line.startswith(PREFIX.encode()) for line in head.splitlines()):
        return Kind.METRICS
    if _is_bench(path, head):
        return Kind.BENCH
    return Kind.REQUESTS if b"acceptance_histogram" in head and holds_requests(path) else Kind.TRACE


def _is_bench(path: Path, head: bytes) -> bool:
    if b'"mean_tpot_ms"' not in head and b'"completed"' not in head:
        return False
    try:
        document = msgspec.json.decode(path.read_bytes())
    except msgspec.DecodeError:
        return False
    return isinstance(document, dict) and "completed" in document
