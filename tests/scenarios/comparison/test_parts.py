"""Parts add up to their total, whatever the attempts of both runs look like."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios.comparison.breakdown import sampled_breakdowns
from scenarios.comparison.parts import makeups
from scenarios.comparison.resample import estimate, weights
from scenarios.comparison.rows import Rows, common_attempts, own_rows, paired_rows

_SECONDS = st.floats(0, 50)


@st.composite
def _attempt(draw: st.DrawFn) -> dict[str, Any]:
    refused = draw(st.integers(0, 9)) == 0
    arrival_s = draw(_SECONDS)
    queue_s, prefill_s, decode_s = (float("nan") if refused else draw(_SECONDS) for _ in range(3))
    spent = {
        name: 0.0 if refused else draw(_SECONDS)
        for name in ("prefill_gpu_s", "draft_prefill_gpu_s", "kv_load_s", "decode_gpu_s", "cache_saved_s")
    }
    return {
        "session_id": draw(st.sampled_from("abc")),
        "turn_id": draw(st.sampled_from("xy")),
        "attempt": draw(st.integers(0, 1)),
        "accepted": not refused and draw(st.booleans()),
        "refused": refused,
        "measured": draw(st.integers(0, 4)) > 0,
        "arrival_s": arrival_s,
        "scheduled_s": arrival_s + queue_s,
        "first_token_s": arrival_s + queue_s + prefill_s,
        "finish_s": arrival_s if refused else arrival_s + queue_s + prefill_s + decode_s,
        "queue_s": queue_s,
        "prefill_s": prefill_s,
        "decode_s": decode_s,
        "e2el_s": queue_s + prefill_s + decode_s,
        "gpu_s": sum(spent.values()) - spent["cache_saved_s"],
        **spent,
    }


_TABLES = st.lists(_attempt(), min_size=1, max_size=25).map(pa.Table.from_pylist)


def _sampled(rows: Rows, common: np.ndarray, name: str, *, with_saved: bool = True) -> dict[str, np.ndarray]:
    return estimate(makeups(rows, common, with_saved=with_saved), weights(rows.n_sessions, 20, 0, name))


@given(a=_TABLES, b=_TABLES, paired=st.booleans(), prices=st.tuples(st.floats(0, 0.1), st.floats(0, 0.1)))
def test_parts_add_up_to_the_total_difference(a: pa.Table, b: pa.Table, paired: bool, prices) -> None:
    rows = paired_rows(a, b) if paired else (own_rows(a), own_rows(b))
    common = [np.ones(table.num_rows, dtype=bool) for table in (a, b)]
    if paired:
        for side, found in enumerate(common_attempts(a, b)):
            common[side] = np.isin(np.arange(common[side].size), found)
    sampled = [_sampled(one, mask, "x") for one, mask in zip(rows, common, strict=True)]
    for one in sampled_breakdowns(sampled[0], sampled[1], prices, 0.95, []):
        if not np.isfinite([part.difference for part in one.parts]).all():
            continue  # nothing that the mean is of
        scale = max(1.0, *(abs(value or 0) for part in one.parts for value in (part.a, part.b)))
        assert sum(part.difference for part in one.parts) == pytest.approx(one.total.difference, abs=1e-7 * scale)
        if one.key != "usd":
            for side in ("a", "b"):
                total = getattr(one.total, side)
                assert sum(getattr(part, side) for part in one.parts) == pytest.approx(total, abs=1e-7 * scale)


@given(table=_TABLES)
def test_a_run_does_not_differ_from_itself(table: pa.Table) -> None:
    rows = paired_rows(table, table)
    sampled = [_sampled(one, np.ones(table.num_rows, dtype=bool), "x") for one in rows]
    for one in sampled_breakdowns(sampled[0], sampled[1], (0.01, 0.01), 0.95, []):
        for part in [*one.parts, one.total]:
            assert part.difference == 0 or np.isnan(part.difference)
            assert (part.low, part.high) in ((0, 0), (None, None))


@given(table=_TABLES)
def test_without_the_savings_the_cache_part_is_nothing(table: pa.Table) -> None:
    rows = own_rows(table)
    every = np.ones(table.num_rows, dtype=bool)
    plain, split = (_sampled(rows, every, "x", with_saved=flag) for flag in (False, True))
    np.testing.assert_array_equal(np.nan_to_num(plain["session/cache"]), 0)
    for key in ("e2el", "session", "cost"):
        parts = [found[f"{key}/prefill"] + found[f"{key}/cache"] for found in (plain, split)]
        np.testing.assert_allclose(parts[0], parts[1], rtol=1e-9, atol=1e-6)


def _keys(*keys: tuple[str, str, int]) -> pa.Table:
    return pa.table(dict(zip(("session_id", "turn_id", "attempt"), map(list, zip(*keys, strict=True)), strict=True)))


def test_attempts_pair_by_session_turn_and_number() -> None:
    a = _keys(("s", "1", 0), ("s", "1", 1), ("s", "2", 0), ("t", "1", 0), ("t", "1", 0))
    b = _keys(("t", "1", 0), ("s", "2", 0), ("s", "1", 0), ("t", "1", 0), ("t", "1", 0), ("u", "1", 0))
    found = common_attempts(a, b)
    assert sorted(zip(*(rows.tolist() for rows in found), strict=True)) == [(0, 2), (2, 1), (3, 0), (4, 3)]
    rows = paired_rows(a, b)
    assert rows[0].n_sessions == rows[1].n_sessions == 3
    assert rows[1].session.tolist() == [1, 0, 0, 1, 1, 2]
