"""Per-request speculation figures in responses, and what kind of input a file is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scenarios.server.detect import Kind, kind_of
from scenarios.server.perrequest import read_requests
from tests.shared import AGENT_LOOP
from traces.errors import TraceError


def response(histogram: list[int], **changed: int) -> dict[str, Any]:
    figures = {
        "acceptance_histogram": histogram,
        "num_spec_steps": sum(histogram),
        "num_accepted_draft_tokens": sum(k * n for k, n in enumerate(histogram)),
        "num_draft_tokens": (len(histogram) - 1) * sum(histogram),
        "num_spec_tokens": len(histogram) - 1,
    }
    return {"choices": [], "usage": {}, "metrics": {"speculative_decoding": figures | changed}}


def test_requests_add_up_and_stay_apart(tmp_path: Path) -> None:
    path = tmp_path / "responses.jsonl"
    lines = [json.dumps(response([39, 1, 0, 3])), "data: " + json.dumps(response([10, 10, 10, 10])), "data: [DONE]"]
    path.write_text("\n".join(lines) + "\n")
    run = read_requests(path)
    assert run.num_drafts == 83
    assert run.num_accepted_tokens == 70
    assert run.accepted_per_pos == (34, 23, 13)
    assert [one.num_drafts for one in run.requests] == [43, 40]
    assert kind_of(path) is Kind.REQUESTS


@pytest.mark.parametrize(
    ("documents", "needed"),
    [
        ([response([5, 5], num_spec_steps=11)], ":1: acceptance_histogram has 10 steps"),
        ([response([5, 5]), response([5, 5, 1])], "different draft depths"),
        ([response([10])], "two counts"),
        ([response([5, -1])], "0 or more"),
        ([{"choices": []}], "no speculation figures"),
    ],
)
def test_figures_that_cannot_be_used_are_refused(tmp_path: Path, documents: list[Any], needed: str) -> None:
    path = tmp_path / "responses.jsonl"
    path.write_text("\n".join(map(json.dumps, documents)))
    with pytest.raises(TraceError, match=needed):
        read_requests(path)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("# HELP x\nvllm:spec_decode_num_drafts_total 3\n", Kind.METRICS),
        ("INFO SpecDecoding metrics: Mean acceptance length: 2\n", Kind.LOG),
        ('{"completed": 3, "mean_tpot_ms": 5.0}', Kind.BENCH),
        ('{"messages": []}\n', Kind.TRACE),
    ],
)
def test_kinds_are_told_by_content(tmp_path: Path, text: str, kind: Kind) -> None:
    path = tmp_path / "input"
    path.write_text(text)
    assert kind_of(path) is kind
    assert kind_of(AGENT_LOOP) is Kind.TRACE
    with pytest.raises(TraceError, match="No such file"):
        kind_of(tmp_path / "none")


def test_standard_input_is_a_recording() -> None:
    assert kind_of(Path("-")) is Kind.TRACE
