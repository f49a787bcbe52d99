"""Measured tables: exact at their points, straight between them, and refused when they make no sense."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.cost import PrefillTable, PrefillWork, RooflineCost, TableCost
from simulator.hardware import gpu_named, model_named

BATCH, VERIFIED, CONTEXT = (1.0, 4.0, 32.0), (1.0, 5.0, 17.0), (0.0, 1000.0, 8000.0)
PROMPT, CACHED = (16.0, 1024.0, 8192.0), (0.0, 8192.0)
ROOFLINE = RooflineCost(gpu=gpu_named("H200"), target=model_named("Qwen3-32B"), draft=model_named("Qwen3-4B"))
PLAIN = replace(ROOFLINE, draft=None)


def _table() -> TableCost:
    """Points taken from a roofline, which is linear in all but the product of context and batch."""
    overhead_s = ROOFLINE.efficiency.round_overhead_s
    target = [
        [[float(PLAIN.decode_s(b, b * (v - 1), b * c, 0)) - overhead_s * (v > 1) for c in CONTEXT] for v in VERIFIED]
        for b in BATCH
    ]
    draft = [[ROOFLINE.draft_pass_s(b, b * c) for c in CONTEXT] for b in BATCH]
    prefill = [[PLAIN.step(0, 0, 0, 0, PrefillWork(int(t), 0, int(c), 1)).total_s for c in CACHED] for t in PROMPT]
    return TableCost(
        batch=BATCH,
        verified_tokens=VERIFIED,
        context_tokens=CONTEXT,
        target_pass_s=np.array(target),
        prefill=PrefillTable(PROMPT, CACHED, np.array(prefill)),
        draft_pass_s=np.array(draft),
        round_overhead_s=overhead_s,
    )


TABLE = _table()


@given(seqs=st.integers(1, 200), depth=st.integers(0, 30), context=st.integers(0, 50_000), passes=st.integers(0, 16))
def test_a_table_of_a_bilinear_model_is_that_model_everywhere(seqs: int, depth: int, context: int, passes: int) -> None:
    asked = (seqs, seqs * depth, seqs * context, passes)
    assert TABLE.decode_s(*asked) == pytest.approx(ROOFLINE.decode_s(*asked), rel=1e-9)


@given(tokens=st.integers(16, 20_000), cached=st.integers(0, 30_000))
def test_prefill_is_interpolated_over_tokens_and_cache(tokens: int, cached: int) -> None:
    work = PrefillWork(tokens, 0, cached, 1)
    assert TABLE.step(0, 0, 0, 0, work).prefill_s == pytest.approx(PLAIN.step(0, 0, 0, 0, work).prefill_s, rel=1e-9)
    beside = TABLE.step(8, 0, 800, 0, work)
    logits_s = PLAIN.target.head_flops / (PLAIN.gpu.bf16_flops * PLAIN.efficiency.prefill_flops)
    expected = PLAIN.step(8, 0, 800, 0, work).prefill_s
    assert beside.prefill_s == pytest.approx(expected - logits_s, rel=1e-6)


def test_host_time_is_part_of_each_step() -> None:
    slower = replace(TABLE, step_overhead_s=2e-3)
    work = PrefillWork(100, 5050, 0, 1)
    assert slower.decode_s(4, 0, 400, 0) - TABLE.decode_s(4, 0, 400, 0) == pytest.approx(2e-3)
    assert slower.step(0, 0, 0, 0, work).total_s - TABLE.step(0, 0, 0, 0, work).total_s == pytest.approx(2e-3)
    assert slower.step(4, 0, 400, 0, work).total_s - TABLE.step(4, 0, 400, 0, work).total_s == pytest.approx(2e-3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"batch": (1.0,)}, r"batch: \[1.0\] must have two points"),
        ({"batch": (4.0, 1.0, 32.0)}, "each above the one before"),
        ({"verified_tokens": (1.0, 5.0)}, r"shape \(3, 3, 3\) does not fit the axes, which give \(3, 2, 3\)"),
        ({"target_pass_s": -TABLE.target_pass_s}, "every time must be a number above 0"),
        ({"target_pass_s": TABLE.target_pass_s * np.nan}, "every time must be a number above 0"),
        ({"target_pass_s": TABLE.target_pass_s[::-1]}, "falls along axis 0: measure again"),
        ({"draft_pass_s": TABLE.target_pass_s}, "draft_pass_s: shape"),
        ({"prefill": PrefillTable(PROMPT, CACHED, np.ones((2, 2)))}, "prefill.seconds: shape"),
        ({"draft_prefill": PrefillTable(PROMPT, (0.0,), np.ones((3, 1)))}, "draft_prefill.cached_tokens"),
    ],
)
def test_tables_that_make_no_sense_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(TABLE, **change)  # type: ignore[arg-type]
