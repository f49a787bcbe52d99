"""Acceptance models against published measurements that they were not fitted to."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from simulator.acceptance.base import Outputs
from simulator.acceptance.correlated import PersistentAcceptance
from simulator.acceptance.rounds import chain_rounds
from simulator.acceptance.table import from_acceptance_length, from_conditional, from_survival
from simulator.acceptance.tally import spec_decode_counts
from simulator.exact import expect
from tests.shared import SHARED
from tests.simulator.strategies import outputs_of


def published(name: str) -> dict[str, Any]:
    cases = json.loads((SHARED / "published.json").read_text())
    return next(case for case in cases if case["id"] == name)


def long_output(tokens: int = 60_000) -> Outputs:
    return outputs_of([tokens], np.full(tokens, 7))


@pytest.mark.parametrize("subset", ["HumanEval", "math_reasoning", "tool_call", "question", "writing"])
def test_per_position_rates_give_the_logged_acceptance_length(subset: str) -> None:
    measured = published("speculators1135-llama1b-dspark")["measured"]
    rates = [percent / 100 for percent in measured["per_position_pct"][subset]]
    found = expect(from_survival(rates), long_output(), 8)
    length = found.tokens.sum() / found.rounds.sum()
    assert length == pytest.approx(measured["acceptance_length"][subset], abs=0.01)


def test_synthetic_acceptance_rates_give_the_logged_figures() -> None:
    case = published("vllm40662-synthetic")
    model = from_survival(case["inputs"]["target_rates"])
    counts = spec_decode_counts(chain_rounds(model.potential(long_output(), 3), long_output().offsets), 3)
    measured = case["measured"]
    assert counts.mean_acceptance_length == pytest.approx(measured["AL"], abs=0.02)
    per_position = counts.num_accepted_tokens_per_pos / counts.num_drafts
    np.testing.assert_allclose(per_position, measured["per_position"], atol=0.01)
    assert 100 * counts.draft_acceptance_rate == pytest.approx(measured["avg_rate_pct"], abs=0.5)


@pytest.mark.parametrize("series", ["coding", "math", "summarization"])
def test_constant_acceptance_fitted_at_one_draft_over_predicts_seven(series: str) -> None:
    measured = published("speculators563-qwen3-8b")["measured"][series]
    found = expect(from_acceptance_length(measured[0], 1), long_output(), 7)
    ratio = found.tokens.sum() / found.rounds.sum() / measured[6]
    assert 1.20 < ratio < 1.30


def persistent(measured: dict[str, Any]) -> PersistentAcceptance:
    return PersistentAcceptance(
        from_conditional([measured["position_average_alpha1"]]), measured["lag1_autocorrelation"]
    )


@pytest.mark.parametrize("data", ["gsm8k", "instructcoder", "sharegpt", "cnn_dailymail"])
def test_autocorrelation_explains_why_rounds_start_at_harder_positions(data: str) -> None:
    """Position average and lag-1 autocorrelation give the rate at round starts, which the average alone exceeds."""
    measured = published(f"sdbench-eagle-llama8b-{data}")["measured"]
    at_start = measured["survival_gamma8"][0]
    rounds = chain_rounds(persistent(measured).potential(long_output(), 8), long_output().offsets)
    assert measured["position_average_alpha1"] > 1.05 * at_start
    assert (rounds.accepted > 0).mean() == pytest.approx(at_start, rel=0.06)


@pytest.mark.parametrize("data", ["instructcoder", "sharegpt", "cnn_dailymail"])
def test_autocorrelation_gives_the_acceptance_length_of_prompt_lookup(data: str) -> None:
    """Two figures averaged over the text give the length at each draft depth."""
    case = published(f"sdbench-ngram-llama8b-{data}")
    outputs = long_output(600_000)
    potential = persistent(case["measured"]).potential(outputs, 16)
    for gamma, length in zip(case["inputs"]["gamma"], case["measured"]["acceptance_length"], strict=True):
        rounds = chain_rounds(potential.cut(gamma), outputs.offsets)
        assert rounds.emitted.mean() == pytest.approx(length, rel=0.015)
