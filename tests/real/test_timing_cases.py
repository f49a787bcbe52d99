"""Step times against published measurements; what is fitted and what is judged stands in docs/accuracy-timing.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.fit_efficiency import fit
from scenarios.accuracy_timing import GOALS, Judged, halves, judge, report
from scenarios.published.publishedcases import PublishedCase, read_cases
from scenarios.published.steady import Traffic, steady_state
from scenarios.published.timing_cases import CHAT_OUTPUT, PREDICTORS, cost_of
from scenarios.published.timing_reasons import reason_of
from simulator.cost import DEFAULT_EFFICIENCY, FITTED, efficiency_of
from tests.shared import SHARED

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "accuracy-timing.md"


@pytest.fixture(scope="module")
def cases() -> list[PublishedCase]:
    return read_cases(SHARED / "published.json")


@pytest.fixture(scope="module")
def judged(cases: list[PublishedCase]) -> list[Judged]:
    return judge(cases)


def test_every_predictor_has_its_case(cases: list[PublishedCase]) -> None:
    assert PREDICTORS.keys() <= {case.id for case in cases}


def test_no_case_is_both_fitted_and_judged(cases: list[PublishedCase]) -> None:
    fitted, held_out = ({case.id for case in half} for half in halves(cases))
    assert fitted
    assert held_out
    assert not fitted & held_out


def test_the_shipped_efficiencies_are_those_of_the_fit(cases: list[PublishedCase]) -> None:
    found = fit(halves(cases)[0])
    for name in FITTED:
        assert getattr(DEFAULT_EFFICIENCY, name) == pytest.approx(getattr(found, name), rel=0.02), name


def test_the_document_is_the_report_of_the_present_model(judged: list[Judged]) -> None:
    assert DOCUMENT.read_text() == report(judged, "published.json")


def test_every_miss_has_a_reason(judged: list[Judged]) -> None:
    unexplained = [
        one.case for one in judged if not one.met and reason_of(one.case, one.figure.quantity) == "not established"
    ]
    assert unexplained == []


@pytest.mark.parametrize(
    "case",
    ["angelslim-qwen3-4b", "angelslim-qwen3-14b", "angelslim-d-4b-over-32b"],
)
def test_judged_dense_models_at_one_sequence_meet_the_goal(judged: list[Judged], case: str) -> None:
    figures = [one for one in judged if one.case == case]
    assert {one.part for one in figures} == {"judged"}
    assert all(one.met for one in figures)


def test_errors_are_relative_to_the_measurement_and_goals_by_kind(judged: list[Judged]) -> None:
    for one in judged:
        assert one.met == (
            abs(one.figure.predicted - one.figure.measured) <= GOALS[one.figure.kind] * one.figure.measured
        )


@pytest.mark.parametrize(("prompt", "tpot_ms"), [(128, 30.9), (8192, 31.3)])
def test_two_gpus_decode_72b_as_measured(prompt: int, tpot_ms: float) -> None:
    """Qwen2.5-72B on two H100 under vLLM: not in the file, so neither fitted nor judged there."""
    cost = cost_of(efficiency_of, "H100-SXM", "Qwen2.5-72B", tp=2)
    found = steady_state(cost, Traffic(n_seqs=1, prompt_tokens=prompt, output_tokens=CHAT_OUTPUT))
    assert found.tpot_s * 1e3 == pytest.approx(tpot_ms, rel=0.10)


@pytest.mark.parametrize(("prompt", "ttft_ms"), [(4096, 505.1), (8192, 1063.8)])
def test_two_gpus_prefill_long_prompts_of_72b_as_measured(prompt: int, ttft_ms: float) -> None:
    """The same report. The share of the peak was declared with 8,192 tokens in view, so this checks its use only.

    Shorter prompts of the report are missed: 1,024 tokens (129 ms) are over-predicted by a quarter, and 2,048
    (149.5 ms) and 3,072 (270.9 ms) by more, which would need 97 % and 80 % of the peak.
    """
    cost = cost_of(efficiency_of, "H100-SXM", "Qwen2.5-72B", tp=2)
    found = steady_state(cost, Traffic(n_seqs=1, prompt_tokens=prompt, output_tokens=CHAT_OUTPUT))
    assert found.ttft_s * 1e3 == pytest.approx(ttft_ms, rel=0.20)


def test_draft_passes_lie_between_the_two_published_ratios() -> None:
    """0.186 for 4B / 32B, each served alone on an H20; 0.375 for a 0.6B draft pass in an 8B engine on an H100."""
    alone = cost_of(efficiency_of, "H20", "Qwen3-32B", draft="Qwen3-4B", gamma=3)
    inside = cost_of(efficiency_of, "H100-SXM", "Qwen3-8B", draft="Qwen3-0.6B", gamma=3)
    assert 0.186 <= alone.draft_pass_s(1, 500) / alone.c_T_s(500) <= 0.186 * 1.25
    assert 0.375 * 0.7 <= inside.draft_pass_s(1, 500) / inside.c_T_s(500) <= 0.375
