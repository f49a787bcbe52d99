"""Grammar modes on a recording with schemas: law, exact expectation and sampled rounds."""

from __future__ import annotations

import pytest

from scenarios.law.lawcheck import LawCheck, law_check
from scenarios.options.read import ReadOptions
from scenarios.options.replay import (
    AcceptanceOptions,
    CostOptions,
    PlatformOptions,
    PolicyOptions,
    ReplayOptions,
)
from scenarios.setup import set_up
from scenarios.tags.tagging import tag_recording
from tests.shared import AGENT_LOOP


def checked(mode: str, **platform: object) -> LawCheck:
    options = ReplayOptions(
        platform=PlatformOptions(num_speculative_tokens=6, **platform),  # type: ignore[arg-type]
        cost=CostOptions(c_T_ms=20.0, delta=0.01, d=0.2, overhead=0.05),
        acceptance=AcceptanceOptions(eps=None if platform else {"S": 0.3, "R": 0.4, "F": 0.5}),
        policy=PolicyOptions(grammar=mode),
    )
    return law_check(set_up([str(AGENT_LOOP)], ReadOptions(), options))


def per_round(result: LawCheck) -> dict[str, float]:
    return {one.name: one.tokens_per_round or 0.0 for one in result.approximations}


def test_the_share_of_forced_tokens_is_that_of_the_tagged_recording() -> None:
    report = tag_recording([str(AGENT_LOOP)], ReadOptions())
    share = report.outputs.forced_share_of_S
    assert share is not None
    assert f"{share:.1%} of the call tokens" in checked("jump").config["grammar"].source


def test_law_exact_and_sampled_agree_as_without_a_grammar() -> None:
    none, accept, jump, no_draft = (per_round(checked(mode)) for mode in ("none", "accept", "jump", "no-draft"))
    for one in (none, accept, jump, no_draft):
        assert one["sampled"] == pytest.approx(one["exact"], rel=0.02)
        assert one["law"] == pytest.approx(one["exact"], rel=0.04)
    assert accept["exact"] > none["exact"] > no_draft["exact"]
    assert jump["exact"] > none["exact"]


def test_nothing_is_drafted_within_calls_but_their_width_is_paid() -> None:
    """Drafts cost ten times what width does here: an engine that does without them loses less than one that misses."""
    result = checked("no-draft")
    exact = next(one for one in result.approximations if one.name == "exact")
    assert exact.saving is not None
    assert exact.saving > 1 - (1 + result.o + result.gamma * (result.delta + result.d)) / exact.tokens_per_round


@pytest.mark.parametrize("method", ["ngram", "suffix"])
def test_a_measured_drafter_knows_the_grammar_too(method: str) -> None:
    none, accept, jump = (
        per_round(checked(mode, speculative_method=method))["measured"] for mode in ("none", "accept", "jump")
    )
    assert accept > none
    assert jump > none
