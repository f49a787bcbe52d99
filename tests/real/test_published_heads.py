"""A declared tree against Medusa as a public leaderboard measured it."""

from __future__ import annotations

import json

import pytest

from scenarios.acceptance.headtree import read_tree, tree_figures
from tests.shared import SHARED

DELTA, OVERHEAD = 0.0036, 0.087
"""Fitted to an 8B model alone on one GPU, from other sources than the case."""


def test_medusa_on_a_leaderboard() -> None:
    """Tokens a round within 5 %, and the round's cost, which is tokens a round over the speedup, within 3 %."""
    cases = json.loads((SHARED / "published.json").read_text(encoding="utf-8"))
    cases = cases["cases"] if isinstance(cases, dict) else cases
    measured = next(one["measured"] for one in cases if one["id"] == "specbench-vicuna7b-medusa")
    found = tree_figures(read_tree("medusa-1"), DELTA, 0.0, OVERHEAD)
    assert found.tokens_per_round == pytest.approx(measured["mean_accepted_tokens"], rel=0.05)
    assert found.round_cost_over_c_T == pytest.approx(measured["derived_round_cost_over_cT"], rel=0.03)
    assert found.net_speedup == pytest.approx(measured["overall_speedup"], rel=0.05)
