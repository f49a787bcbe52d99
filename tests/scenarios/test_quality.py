"""The quality budget: sums, what stands behind them, and levers of which nothing is known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios.agents.quality import Assurance, QualityItem, budget_of, parse_lever, quality_budget, told
from scenarios.ask import ask
from scenarios.composition.run import composition
from scenarios.options.read import ReadOptions
from scenarios.options.replay import OptionError, PlatformOptions, ReplayOptions
from simulator.gateconfig import GateConfig
from tests.shared import AGENT_LOOP


def test_quality_adds_up_and_says_what_is_sure() -> None:
    gate = QualityItem(lever="gate", regression=0.004, assurance=Assurance.DECLARED, source="given")
    budget = quality_budget([gate, parse_lever("fp8=0.01:measured")], limit=0.01)
    assert budget.total == pytest.approx(0.014)
    assert [budget.declared, budget.measured] == pytest.approx([0.004, 0.01])
    assert budget.within is False
    assert {item.lever for item in budget.items if item.assurance is Assurance.GUARANTEED} == {
        "prefix cache",
        "speculation",
    }
    assert told(budget) == (
        "tasks made worse: at most 1.4 % = 0.0 % guaranteed (prefix cache, speculation) + 0.4 % declared (gate) + "
        "1.0 % measured (fp8); limit 1.0 %: broken"
    )


def test_a_given_regression_replaces_a_guarantee() -> None:
    replaced = quality_budget([parse_lever("speculation=0.002:measured")])
    assert replaced.total == pytest.approx(0.002)
    assert len(replaced.items) == 2


@pytest.mark.parametrize("text", ["gate=much", "gate", "=0.1", "gate=0.1:guaranteed", "gate=0.1:not declared"])
def test_what_is_no_regression_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="regression"):
        parse_lever(text)


def test_levers_have_one_regression_each() -> None:
    with pytest.raises(ValueError, match="one regression"):
        quality_budget([parse_lever("gate=0.1"), parse_lever("gate=0.2")])
    with pytest.raises(OptionError, match=r"outside -1\.\.1"):
        ask([str(AGENT_LOOP)], ReadOptions(), ReplayOptions(regression=("gate=2",)))


def test_lossy_levers_are_named_until_somebody_declares_them() -> None:
    platform = PlatformOptions(quantization="fp8", kv_cache_dtype="fp8")
    budget = budget_of(ReplayOptions(platform=platform, gate=GateConfig(pass_call=0.9), quality_limit=0.05))
    assert budget.undeclared == ["gate", "quantization", "kv cache"]
    assert budget.within is None
    assert "gate and quantization and kv cache apart (not declared)" in told(budget)
    declared = budget_of(
        ReplayOptions(
            platform=platform,
            nu=1.2,
            regression=("gate=0.01", "quantization=0.02:measured", "kv cache=0"),
            quality_limit=0.05,
        )
    )
    assert (declared.undeclared, declared.within) == ([], True)
    assert declared.total == pytest.approx(0.03)


def test_a_limit_that_known_levers_break_stays_broken() -> None:
    options = ReplayOptions(nu=1.2, regression=("relaxed acceptance=0.1",), quality_limit=0.05)
    assert budget_of(options).within is False


def test_each_result_has_its_budget() -> None:
    answer = ask([str(AGENT_LOOP)], ReadOptions(), ReplayOptions(regression=("gate=0.01",))).answer
    assert answer.quality.total == pytest.approx(0.01)
    assert composition([str(AGENT_LOOP)], ReadOptions(), ReplayOptions()).quality.undeclared == ["gate"]


@given(st.lists(st.tuples(st.floats(-1, 1), st.booleans()), max_size=5))
def test_the_total_is_the_sum_of_its_kinds(levers: list[tuple[float, bool]]) -> None:
    items = [parse_lever(f"l{at}={share!r}{':measured' if known else ''}") for at, (share, known) in enumerate(levers)]
    budget = quality_budget(items)
    assert budget.total == pytest.approx(budget.declared + budget.measured)
    assert budget.total == pytest.approx(sum(share for share, _ in levers))
