"""Where speculation must stay off: break-evens against closed forms and against replays on either side of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from scenarios.acceptance.expected import expectation
from scenarios.ask import ask
from scenarios.law.limits import SHARE_RULE, Limit, limits, schema_share, stay_off
from scenarios.options.read import ReadOptions
from scenarios.options.replay import AcceptanceOptions, CostOptions, LoadOptions, PlatformOptions, ReplayOptions
from scenarios.setup import set_up
from simulator import law
from simulator.acceptance.base import Outputs
from simulator.acceptance.table import from_eps
from tests.shared import AGENT_LOOP
from tokenclass.classes import SubClass

GAMMA = 8
EPS = (0.1,) * 6 + (0.5, 0.6)


def outputs(w_S: float, *, span: int = 4000, spans: int = 4) -> Outputs:
    """Long spans of one class after another."""
    schema = round(span * w_S)
    labels = np.tile([SubClass.K] * schema + [SubClass.F] * (span - schema), spans).astype(np.uint8)
    return Outputs(labels, np.array([0, labels.size]), np.zeros(1, np.uint64))


def rule(w_S: float, cost: float, eps: tuple[float, ...] = EPS) -> Limit:
    given = outputs(w_S)
    return schema_share(given, expectation(from_eps(eps), given, GAMMA), cost)


def test_the_break_even_share_of_long_spans_is_the_harmonic_one() -> None:
    A_S, A_F = law.tokens_per_round(0.1, GAMMA), law.tokens_per_round(0.6, GAMMA)
    cost = 2.2
    star = (1 / cost - 1 / A_F) / (1 / A_S - 1 / A_F)
    found = rule(0.5, cost)
    assert found.limit == pytest.approx(star, abs=0.01)
    assert 0 < star < 1


@pytest.mark.parametrize("cost", [1.9, 2.2, 3.0])
def test_both_sides_of_the_break_even_share(cost: float) -> None:
    star = rule(0.5, cost).limit
    assert star is not None
    for w_S, off in ((star - 0.05, True), (star + 0.05, False)):
        given = outputs(w_S)
        found = rule(w_S, cost)
        assert found.stay_off is off
        assert (expectation(from_eps(EPS), given, GAMMA).tokens_per_round < cost) is off


def test_where_schema_is_harder_the_rule_turns_round() -> None:
    found = rule(0.5, 2.2, (0.6,) * 6 + (0.5, 0.1))
    assert "schema is the harder part" in found.reason
    assert "at no share" in rule(0.5, 7.0).reason
    assert "at every share" in rule(0.5, 1.2).reason


def found_with(**platform: object) -> dict[str, Limit]:
    options = ReplayOptions(
        platform=PlatformOptions(**platform),  # type: ignore[arg-type]
        load=LoadOptions(max_concurrency=2),
    )
    setup = set_up([str(AGENT_LOOP)], ReadOptions(), options)
    found = limits(setup.baseline, setup.platform, options.platform, setup.choice, setup.gamma)
    return {one.rule: one for one in found}


def test_a_round_trip_above_the_room_for_it_says_off() -> None:
    local = found_with()["draft across a network"]
    assert local.stay_off is None
    assert local.limit is not None
    below = found_with(draft_placement="remote", rtt_ms=0.8 * local.limit)
    above = found_with(draft_placement="remote", rtt_ms=1.2 * local.limit)
    assert below["draft across a network"].stay_off is False
    assert above["draft across a network"].stay_off is True
    assert above[SHARE_RULE].stay_off is True


def test_the_batch_where_the_saving_turns_negative() -> None:
    found = found_with()["batch at which s turns negative"]
    assert found.limit is not None
    assert found.stay_off is (found.figure >= found.limit)  # type: ignore[operator]
    deeper = found_with(num_speculative_tokens=4)["batch at which s turns negative"]
    assert deeper.limit is None or deeper.limit > found.limit


def test_a_quantized_mixture_of_experts_wants_a_draft_of_its_precision() -> None:
    rules = "quantized MoE target, draft of another precision"
    assert found_with()[rules].stay_off is None
    pair = {"model": "Qwen3-30B-A3B", "draft_model": "Qwen3-0.6B"}
    assert found_with(**pair)[rules].stay_off is None
    assert found_with(**pair, quantization="fp8")[rules].stay_off is True
    assert found_with(**pair, quantization="fp8", draft_quantization="fp8")[rules].stay_off is False


def test_a_replay_warns_where_it_must_stay_off() -> None:
    costs = CostOptions(c_T_ms=10.0, delta=0.02, d=0.6)
    options = ReplayOptions(cost=costs, acceptance=AcceptanceOptions(eps={"S": 0.5, "R": 0.5, "F": 0.5}))
    asked = ask([str(AGENT_LOOP)], ReadOptions(), options)
    assert any("stay off" in text for text in asked.answer.warnings)
    assert asked.answer.verdict is not None
    assert asked.answer.verdict.pays is False
    cheap = replace(
        options, cost=replace(costs, d=0.01), acceptance=AcceptanceOptions(eps={"S": 0.1, "R": 0.2, "F": 0.2})
    )
    assert not any("stay off" in text for text in ask([str(AGENT_LOOP)], ReadOptions(), cheap).answer.warnings)
    assert stay_off([]) == []
