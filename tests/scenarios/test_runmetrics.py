"""Metrics of a replay, each against its count request by request or step by step."""

from __future__ import annotations

import pytest

from scenarios.runs.metric import all_metrics
from scenarios.runs.runsummary import RunSummary
from tests.scenarios.comparison.conftest import asked_of

METRICS = {metric.name: metric for metric in all_metrics()}


def test_metrics_are_declared_whole_and_are_no_fields_of_a_summary() -> None:
    for name, metric in METRICS.items():
        assert metric.label
        assert metric.definition.endswith(".")
        assert name not in RunSummary.__struct_fields__


@pytest.mark.parametrize("gamma", [0, 4])
def test_prefill_is_what_decode_leaves_of_the_time_in_steps(gamma: int) -> None:
    asked = asked_of({"gamma": gamma})
    steps_s = asked.replay.busy_s
    decode_s = float(asked.replay.by_step.decode_gpu_s.sum())
    assert asked.answer.replay.metrics["prefill_share"] == pytest.approx(1 - decode_s / steps_s)


def test_rejected_drafts_are_those_of_the_counters() -> None:
    summary = asked_of({"gamma": 4}).answer.replay
    counters = summary.speculation
    assert counters is not None
    rejected = (counters.num_draft_tokens - counters.num_accepted_tokens) / summary.total_output_tokens
    assert summary.metrics["rejected_draft_tokens_per_output_token"] == pytest.approx(rejected)
    assert asked_of({"gamma": 0}).answer.replay.metrics["rejected_draft_tokens_per_output_token"] is None
