"""Token ids kept for drafters: against the prompts and outputs of the tagged sessions themselves."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.workload import Workload
from simulator.workloadbuilder import WorkloadBuilder
from tests.shared import AGENT_LOOP
from tokenclass.layout import Layout
from tokenclass.tagged import TaggedSession
from tokenclass.tagger import tag_sessions
from tokenclass.tokenizers import load_tokenizer
from traces.readlog import ReadLog
from traces.registry import read_sessions


@pytest.fixture(scope="module")
def tagged() -> list[TaggedSession]:
    sessions = read_sessions([str(AGENT_LOOP)], ReadLog())
    return list(tag_sessions(sessions, load_tokenizer("qwen3"), Layout.named("hermes")))


@pytest.fixture(scope="module")
def workload(tagged: list[TaggedSession]) -> Workload:
    builder = WorkloadBuilder(16, keep_ids=True)
    for session in tagged:
        builder.add(session)
    return builder.build()


def test_each_output_and_its_context_come_back(tagged: list[TaggedSession], workload: Workload) -> None:
    expected = [
        (session.prompt_ids(turn), attempt.ids)
        for session in tagged
        for turn in session.turns
        for attempt in turn.attempts
    ]
    assert workload.tokens is not None
    order = workload.tokens.output_order
    assert sorted(order.tolist()) == list(range(len(expected)))
    at = 0
    for recorded in workload.tokens:
        for start, end in zip(recorded.output_start.tolist(), recorded.output_end.tolist(), strict=True):
            text = int(np.searchsorted(recorded.offsets, start, side="right")) - 1
            prompt, output = expected[order[at]]
            assert np.array_equal(recorded.ids[recorded.offsets[text] : start], prompt)
            assert np.array_equal(recorded.ids[start:end], output)
            at += 1
    assert at == workload.n_attempts


def test_prompts_that_go_on_share_a_text(workload: Workload) -> None:
    """The ids of all texts are far fewer than those of all prompts; rejected attempts branch off."""
    assert workload.tokens is not None
    held = sum(recorded.ids.size for recorded in workload.tokens)
    prompts = int(workload.turn_prompt_tokens.sum())
    assert held < prompts / 3
    assert sum(len(recorded.offsets) - 1 for recorded in workload.tokens) < workload.n_attempts / 2


def test_ids_are_kept_only_when_asked_for(tagged: list[TaggedSession]) -> None:
    builder = WorkloadBuilder(16)
    builder.add(tagged[0])
    assert builder.build().tokens is None
