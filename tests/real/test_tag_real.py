"""Tagging recorded conversations: against a count published for the same recording."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tests.shared import TRACES
from tokenclass.classes import PositionClass, SubClass
from tokenclass.layout import Layout
from tokenclass.tagged import TaggedSession
from tokenclass.tagger import tag_sessions
from tokenclass.tokenizers import load_tokenizer
from traces.readlog import ReadLog
from traces.registry import read_sessions

AIRLINE = TRACES / "tau-bench" / "historical_trajectories__gpt-4o-airline.json"


@pytest.fixture(scope="module")
def airline() -> list[TaggedSession]:
    sessions = read_sessions([str(AIRLINE)], ReadLog())
    return list(tag_sessions(sessions, load_tokenizer("qwen3"), Layout.named("hermes")))


def _outputs(tagged: list[TaggedSession]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    for session in tagged:
        for turn in session.turns:
            assert turn.final.ids is not None
            yield turn.final.ids, turn.final.labels.expand_classes()


def test_published_counts(airline: list[TaggedSession]) -> None:
    """A trial counted 168,033 tokens in 2,454 replies with 34.5 % in calls; it left out the end of turn."""
    end = load_tokenizer("qwen3").special_tokens["<|im_end|>"]
    replies = list(_outputs(airline))
    assert (len(airline), len(replies)) == (200, 2454)
    assert all(ids[-1] == end and (ids[:-1] != end).all() for ids, _ in replies)
    tokens = sum(ids.size - 1 for ids, _ in replies)
    in_calls = sum(int((classes[:-1] == PositionClass.S).sum()) for _, classes in replies)
    assert tokens == 168_033
    assert round(100 * in_calls / tokens, 1) == 34.5


def test_published_number_of_calls(airline: list[TaggedSession]) -> None:
    opener = load_tokenizer("qwen3").special_tokens["<tool_call>"]
    assert sum(int((ids == opener).sum()) for ids, _ in _outputs(airline)) == 1164


def test_each_call_has_its_name_and_delimiters(airline: list[TaggedSession]) -> None:
    """The opener is a delimiter wherever it stands, and no reply without one has tokens in S."""
    opener = load_tokenizer("qwen3").special_tokens["<tool_call>"]
    for session in airline:
        for turn in session.turns:
            labels, opens = turn.final.labels.expand(), turn.final.ids == opener
            assert (labels[opens] == SubClass.D).all()
            assert bool((labels == SubClass.N).any()) == bool(opens.any())
            assert bool(turn.final.labels.class_tokens()[PositionClass.S]) == bool(opens.any())


def test_prompts_continue_through_outputs(airline: list[TaggedSession]) -> None:
    """Nothing is dropped from these histories, so each prompt begins with the one before and its output."""
    for session in airline:
        for before, after in zip(session.turns, session.turns[1:], strict=False):
            expected = np.concatenate((session.prompt_ids(before), before.final.ids))
            assert np.array_equal(session.prompt_ids(after)[: expected.size], expected)
