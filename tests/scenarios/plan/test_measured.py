"""Drafters measured on the recorded tokens, and grammars, in repeated traffic."""

from __future__ import annotations

from typing import Any

import pytest

from scenarios.api.run import replay
from scenarios.plan.document import Plan
from scenarios.plan.run import plan
from scenarios.plan.targets import Objectives, parse_targets
from scenarios.plan.wanted import Wanted
from scenarios.resolve.measure import Measure
from tests.shared import AGENT_LOOP

AXES = {"gpu": "H200", "tensor_parallel_size": "1", "gamma": "4", "kv_offload_gb": "0", "router": "least-loaded"}


def planned(**options: Any) -> Plan:
    objectives = Objectives(targets=parse_targets(["e2el:p95:60000"]), measure=Measure())
    wanted = Wanted(objectives=objectives, tasks_per_s=0.1, max_requests=600, jobs=1)
    return plan([str(AGENT_LOOP)], options, AXES, wanted)


@pytest.mark.parametrize(
    "options",
    [
        {"speculative_method": "ngram"},
        {"speculative_method": "suffix"},
        {"speculative_method": "ngram", "grammar": "jump"},
        {"speculative_method": "ngram", "grammar": "accept"},
        {"grammar": "no-draft", "eps": "S=0.0,R=1.0,F=1.0"},
    ],
)
def test_copies_draft_as_the_recorded_tasks_did(options: dict[str, Any]) -> None:
    """Acceptance that is certain is the same in every copy: a task takes as many rounds as in the recording."""
    result = planned(**options)
    (row,) = result.rows
    assert row.idle is not None, row.reason
    recorded = replay(AGENT_LOOP, gamma=4, gpu="H200", max_concurrency=1, excerpt=False, **options)
    rounds = int(recorded.asked.replay.by_step.rounds.sum())
    assert row.idle.rounds_per_task * result.traffic.recorded_tasks == pytest.approx(rounds)
    assert row.sized is not None


def test_what_copies_do_is_said() -> None:
    result = planned(speculative_method="ngram")
    assert any("copies do not draft from each other" in note for note in result.notes)
