"""Acceptance measured on real recordings: against a trial of prompt lookup published for one of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from scenarios.drafters.ngram import NgramOptions
from scenarios.p1 import Drafter, Recorded, measured, read_recording
from simulator.acceptance.ngram import Occurrence, ngram_potential
from simulator.acceptance.rounds import chain_rounds
from simulator.predictions import Ruling
from tests.shared import TRACES
from tokenclass.classes import CLASS_OF_SUBCLASS, PositionClass

AIRLINE = TRACES / "tau-bench" / "historical_trajectories__gpt-4o-airline.json"
S, R, F = PositionClass


def ngram(n: int, match: Occurrence) -> Drafter:
    options = NgramOptions(prompt_lookup_min=n, prompt_lookup_max=n, prompt_lookup_match=match)
    return Drafter(name=f"{n} {match}", method="ngram", options=(options,))


@pytest.fixture(scope="module")
def airline() -> Recorded:
    return read_recording("airline", [str(AIRLINE)])


def test_a_published_trial_is_reproduced(airline: Recorded) -> None:
    """3-grams, most recent match, gamma 8, rounds over whole replies: 0.98 accepted from S, 0.37 from F, ratio 2.7."""
    found = measured(airline, ngram(3, Occurrence.LATEST), first=0)
    assert found.tau[S] == pytest.approx(0.98, abs=0.01)
    assert found.tau[F] == pytest.approx(0.37, abs=0.005)
    assert found.ratio is not None
    assert found.ratio[0] == pytest.approx(2.7, abs=0.05)


def test_the_end_of_turn_explains_more_than_the_trial_leaves_open(airline: Recorded) -> None:
    """Without the end of turn as a token the S figure is 3 % higher: the trial's lies within what such choices move."""
    classes = np.array(CLASS_OF_SUBCLASS, np.uint8)[airline.workload.labels]
    labels = np.delete(classes, airline.workload.offsets[1:] - 1)
    accepted, starts, at = [], [], 0
    assert airline.workload.tokens is not None
    for recorded in airline.workload.tokens:
        replies = replace(recorded, output_end=recorded.output_end - 1)
        found = ngram_potential(replies, 8, prompt_lookup_min=3, prompt_lookup_max=3, occurrence=Occurrence.LATEST)
        rounds = chain_rounds(found, replies.output_offsets, first=0)
        accepted.append(rounds.accepted)
        starts.append(labels[at + rounds.start])
        at += int(replies.output_offsets[-1])
    assert at == 168_033
    counts, where = np.concatenate(accepted), np.concatenate(starts)
    assert counts[where == S].mean() == pytest.approx(1.015, abs=0.002)
    assert counts[where == F].mean() == pytest.approx(0.37, abs=0.015)


def test_as_an_engine_runs_it_the_figures_hardly_change(airline: Recorded) -> None:
    """Prefill emits the first token and the end of turn is a token: what a replay measures."""
    found = measured(airline, ngram(3, Occurrence.LATEST))
    assert found.tau[S] == pytest.approx(0.98, abs=0.02)
    assert found.tau[F] == pytest.approx(0.37, abs=0.01)
    assert found.ratio is not None
    assert found.ratio[1] > 1.5  # P1's ratio, its interval included
    assert found.p1.ruling is Ruling.UNTESTED  # nothing is reasoned in this recording
    assert found.r1.ruling is Ruling.HOLDS


def test_the_match_matters_little_beside_the_length(airline: Recorded) -> None:
    earliest, latest = (measured(airline, ngram(3, match)).tokens_per_round for match in Occurrence)
    longer = measured(airline, ngram(5, Occurrence.EARLIEST)).tokens_per_round
    assert 1.0 < latest / earliest < 1.05
    assert longer < earliest / 1.05


def test_reasoning_can_be_harder_than_prose() -> None:
    """Claude Code: the text of reasoning is rarely copied, so P1's order comes out false."""
    found = measured(read_recording("claude code", [str(TRACES / "claude-code")]), ngram(3, Occurrence.LATEST))
    assert found.tau[R] is not None
    assert found.tau[R] < found.tau[F] < found.tau[S]
    assert found.p1.ruling is Ruling.REJECTED
