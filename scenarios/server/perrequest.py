"""Reads the speculation figures that vLLM puts into each response with --per-request-spec-decode-metrics."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from scenarios.server.run import RequestCounts, ServerRun
from traces.errors import TraceError

_MEND = "save responses of a server run with --per-request-spec-decode-metrics summary or detailed"


class _Figures(msgspec.Struct):
    acceptance_histogram: list[int]
    num_spec_steps: int
    num_accepted_draft_tokens: int
    num_draft_tokens: int


def read_requests(path: Path) -> ServerRun:
    """All requests of a file of responses, JSON or one JSON document a line, added up.

    Entry j of a histogram counts the steps that accepted exactly j drafts. Raises TraceError for a file without such
    figures, for figures that contradict themselves, and for depths that differ.
    """
    found = [_checked(figures, path, line) for line, figures in _figures(path)]
    if not found:
        raise TraceError(str(path), None, "holds no speculation figures of requests", _MEND)
    depths = {len(one.acceptance_histogram) for one in found}
    if len(depths) > 1:
        raise TraceError(str(path), None, "requests of different draft depths", "split the file by depth")
    histograms = np.array([one.acceptance_histogram for one in found], dtype=np.float64)
    at_least = np.cumsum(histograms[:, ::-1], axis=1)[:, ::-1]
    return ServerRun(
        source=str(path),
        num_drafts=float(at_least[:, 0].sum()),
        num_draft_tokens=float(sum(one.num_draft_tokens for one in found)),
        num_accepted_tokens=float(sum(one.num_accepted_draft_tokens for one in found)),
        accepted_per_pos=tuple(at_least[:, 1:].sum(axis=0).tolist()),
        requests=tuple(RequestCounts(float(row[0]), float(row[1:].sum()), tuple(row[1:].tolist())) for row in at_least),
    )


def holds_requests(path: Path) -> bool:
    """Whether a file has the figures of some request."""
    try:
        return next(_figures(path), None) is not None
    except TraceError:
        return False


def _checked(figures: _Figures, path: Path, line: int) -> _Figures:
    histogram = figures.acceptance_histogram
    steps, accepted = sum(histogram), sum(k * count for k, count in enumerate(histogram))
    if min(histogram, default=-1) < 0 or len(histogram) < 2:
        raise TraceError(str(path), line, "acceptance_histogram needs two counts of 0 or more at least", _MEND)
    if steps != figures.num_spec_steps or accepted != figures.num_accepted_draft_tokens:
        raise TraceError(
            str(path),
            line,
            f"acceptance_histogram has {steps} steps and {accepted} accepted drafts, num_spec_steps and "
            f"num_accepted_draft_tokens say {figures.num_spec_steps} and {figures.num_accepted_draft_tokens}",
            "leave this response out",
        )
    return figures


def _figures(path: Path) -> Iterator[tuple[int, _Figures]]:
    """Line number and figures of each response."""
    data = path.read_bytes()
    try:
        documents = [(1, msgspec.json.decode(data))]
    except msgspec.DecodeError:
        lines = [(number, line) for number, line in enumerate(data.splitlines(), start=1) if line.strip()]
        documents = [(number, _decoded(line, path, number)) for number, line in lines]
    for number, document in documents:
        for one in _objects(document):
            try:
                yield number, msgspec.convert(one, _Figures)
            except msgspec.ValidationError as error:
                raise TraceError(str(path), number, f"speculation figures of a request: {error}", _MEND) from error


def _decoded(line: bytes, path: Path, number: int) -> Any:
    text = line.removeprefix(b"data: ")
    if text.strip() == b"[DONE]":
        return None
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise TraceError(str(path), number, f"not JSON ({error})", _MEND) from error


def _objects(document: Any) -> Iterator[dict[str, Any]]:
    stack = [document]
    while stack:
        one = stack.pop()
        if isinstance(one, dict):
            if "acceptance_histogram" in one:
                yield one
            else:
                stack.extend(reversed(list(one.values())))
        elif isinstance(one, list):
            stack.extend(reversed(one))
