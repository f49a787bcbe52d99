"""The law check on workloads whose answers are known in closed form."""

from __future__ import annotations

from pathlib import Path

import pytest

from scenarios.acceptance.expected import expectation, replayed_outputs
from scenarios.law.lawcheck import LawCheck, law_check
from scenarios.law.stretch import schema_share, stretched
from scenarios.options.read import ReadOptions
from scenarios.options.replay import AcceptanceOptions, CostOptions, OptionError, PlatformOptions, ReplayOptions
from scenarios.setup import Setup, set_up
from simulator import law
from tests.shared import AGENT_LOOP


def setup(eps: dict[str, float], gamma: int = 8, **platform: object) -> Setup:
    options = ReplayOptions(
        platform=PlatformOptions(num_speculative_tokens=gamma, **platform),  # type: ignore[arg-type]
        cost=CostOptions(c_T_ms=20.0, delta=0.01, d=0.2, overhead=0.05),
        acceptance=AcceptanceOptions(eps=eps or None),
    )
    return set_up([str(AGENT_LOOP)], ReadOptions(), options)


def by_name(result: LawCheck) -> dict[str, float | None]:
    return {one.name: one.tokens_per_round for one in result.approximations}


def test_one_eps_for_all_makes_all_reckonings_the_law() -> None:
    result = law_check(setup({"S": 0.3, "R": 0.3, "F": 0.3}, 4))
    found = by_name(result)
    assert found["law"] == pytest.approx(law.tokens_per_round(0.3, 4))
    assert found["law, per class"] == pytest.approx(found["law"])
    assert found["span limit"] == pytest.approx(found["law"])
    assert found["exact"] == pytest.approx(found["law"], rel=0.01)  # outputs end inside a round
    assert all(row.exact_tokens_per_round == pytest.approx(found["law"], rel=0.05) for row in result.spans)
    assert result.break_even.exact is None
    assert result.break_even.exact_reading == "the share of schema has no effect"


def test_order_of_the_reckonings_and_the_break_evens_between_them() -> None:
    """Long spans of unlike classes: sums of each class are above the law, the span limit and the truth below it."""
    result = law_check(setup({"S": 0.05, "R": 0.8, "F": 0.9}))
    found = by_name(result)
    assert found["law, per class"] > found["law"] > found["span limit"]
    assert found["exact"] == pytest.approx(found["span limit"], rel=0.05)
    assert found["sampled"] == pytest.approx(found["exact"], rel=0.03)
    point = result.break_even
    assert point.first_order > point.exact
    assert point.exact_reading == "pays above it"
    assert sum(row.tokens for row in result.spans) == result.output_tokens
    rulings = {one.name: one.ruling for one in result.predictions}
    assert rulings["P1"] == rulings["R1"] == "holds"


def test_the_saving_is_zero_where_the_stretched_spans_break_even() -> None:
    made = setup({"S": 0.05, "R": 0.8, "F": 0.9})
    point = law_check(made).break_even
    assert point.stretch is not None
    longer = stretched(replayed_outputs(made.baseline), point.stretch)
    saving = 1 - expectation(made.choice.table, longer, 8).cost_per_token(made.costs(8))
    assert saving == pytest.approx(0, abs=2e-3)
    assert schema_share(longer.labels) == pytest.approx(point.on_spans, abs=2e-3)


def test_hopeless_and_certain_drafts_have_no_break_even() -> None:
    assert law_check(setup({"S": 0.9, "R": 1.0, "F": 1.0})).break_even.exact_reading == "pays at no share"
    assert law_check(setup({"S": 0.0, "R": 0.01, "F": 0.01})).break_even.exact_reading == "pays at every share"


def test_a_measured_drafter_has_its_own_column() -> None:
    result = law_check(setup({}, 4, speculative_method="ngram"))
    found = by_name(result)
    assert "sampled" not in found
    assert found["exact"] == pytest.approx(found["measured"], rel=0.02)
    assert all(row.tau_measured is not None for row in result.classes)


def test_without_drafts_there_is_nothing_to_check(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="--gamma is 0"):
        setup({}, 0)
