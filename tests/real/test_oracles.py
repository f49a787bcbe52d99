"""The closed forms and the exact expectation against tables computed elsewhere in rational arithmetic."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from simulator import law
from simulator.exact import expect_rounds
from tests.shared import SHARED

TOLERANCE = 1e-12


def _rows(name: str) -> list[dict[str, Any]]:
    return json.loads((SHARED / "oracles" / "law.json").read_text())[name]


def _close(value: float | None, expected: float | None) -> bool:
    if value is None or expected is None:
        return value is expected
    return value == pytest.approx(expected, rel=TOLERANCE, abs=TOLERANCE)


def test_saving_table() -> None:
    rows = _rows("saving")
    for row in rows:
        at = (row["eps_bar"], row["gamma"])
        costs = (row["delta"], row["d"])
        assert _close(law.tau(*at), row["tau"]), row
        assert _close(law.tokens_per_round(*at), row["tokens_per_round"]), row
        assert _close(law.c_net_over_c_T(*at, *costs), row["c_net_over_c_T"]), row
        assert _close(law.saving(*at, *costs), row["saving"]), row
        assert _close(law.speedup(*at, *costs), row["speedup"]), row
    assert len(rows) > 100


def test_break_even_table() -> None:
    rows = _rows("break_even")
    for row in rows:
        costs = (row["gamma"], row["delta"], row["d"])
        mix = (row["kappa"], row["rho_S"], row["rho_n"])
        assert _close(law.eps_star_first_order(*costs), row["eps_star_first_order"]), row
        assert _close(law.eps_star_exact(*costs), row["eps_star_exact"]), row
        assert _close(law.w_S_star_first_order(*costs, *mix), row["w_S_star_first_order"]), row
        assert _close(law.w_S_star_exact(*costs, *mix), row["w_S_star_exact"]), row
    assert len(rows) > 100


def test_total_cost_and_marginal_value_tables() -> None:
    for row in _rows("c_total"):
        total = row.pop("C_total")
        assert _close(law.C_total(**row), total), row
    for row in _rows("marginal_schema_value"):
        gain = row.pop("dtau_dw")
        assert _close(law.dtau_dw(**row), gain), row


def _cases() -> Iterator[tuple[dict[str, Any], np.ndarray, np.ndarray]]:
    for case in json.loads((SHARED / "oracles" / "tokens_per_round.json").read_text())["cases"]:
        accept = np.array([1 - case["eps"][label] for label in case["labels"]])
        yield case, accept, np.array([0, len(accept)])


def test_exact_expectation() -> None:
    count = 0
    for case, accept, offsets in _cases():
        found = expect_rounds([accept], offsets, case["gamma"], first=0)
        assert _close(found.rounds[0], case["expected_rounds"])
        assert _close(found.tokens[0] / found.rounds[0], case["tokens_per_round"])
        assert _close(found.useful_drafts[0], case["expected_useful_drafts"])
        assert _close(found.accepted[0], case["expected_accepted"])
        np.testing.assert_allclose(found.accepted_per_pos, case["accepted_per_pos"], rtol=TOLERANCE, atol=TOLERANCE)
        count += 1
    assert count == 50


def test_all_outputs_in_one_call_are_the_sum_of_single_calls() -> None:
    cases = [(case, accept) for case, accept, _ in _cases() if case["gamma"] == 8]
    offsets = np.cumsum([0] + [len(accept) for _, accept in cases])
    flat = np.concatenate([accept for _, accept in cases])
    found = expect_rounds([flat], offsets, 8, first=0)
    np.testing.assert_allclose(found.rounds, [case["expected_rounds"] for case, _ in cases], rtol=TOLERANCE)
    np.testing.assert_allclose(found.accepted, [case["expected_accepted"] for case, _ in cases], atol=TOLERANCE)


def test_mean_field_and_span_limit_columns() -> None:
    for case, accept, _ in _cases():
        mean_field = law.tokens_per_round(1 - float(accept.mean()), case["gamma"])
        assert mean_field == pytest.approx(case["law_mean_field_tokens_per_round"], rel=1e-11)
        shares = [case["labels"].count(label) / len(case["labels"]) for label in "SRF"]
        limit = law.span_limit_tokens_per_round(shares, [case["eps"][label] for label in "SRF"], case["gamma"])
        assert _close(limit, case["span_limit_tokens_per_round"])
