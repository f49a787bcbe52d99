"""Step time: monotone, equal for arrays and scalars, and consistent with the law's constants read back from it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.cost import CostModel, DeclaredCost, Efficiency, PrefillTable, PrefillWork, RooflineCost, TableCost
from simulator.hardware import HeadKind, gpu_named, head_for, kv_blocks, model_named
from simulator.lawcosts import read_back

H200 = gpu_named("H200")
TARGET = model_named("Qwen3-32B")
DRAFT = model_named("Qwen3-4B")
MOE = model_named("Qwen3-30B-A3B")
WINDOWED = model_named("gpt-oss-20b")
TABLE = TableCost(
    batch=(1.0, 8.0, 32.0),
    verified_tokens=(1.0, 5.0, 17.0),
    context_tokens=(0.0, 4096.0),
    target_pass_s=np.array(
        [[[0.018, 0.0185], [0.019, 0.0195], [0.021, 0.022]]] * 2 + [[[0.02, 0.03], [0.025, 0.035], [0.04, 0.05]]]
    ),
    prefill=PrefillTable((16.0, 8192.0), (0.0, 8192.0), np.array([[0.018, 0.019], [0.9, 1.1]])),
    draft_pass_s=np.array([[0.003, 0.0031], [0.003, 0.0032], [0.0035, 0.004]]),
    draft_prefill=PrefillTable((16.0, 8192.0), (0.0, 8192.0), np.array([[0.003, 0.003], [0.1, 0.12]])),
    step_overhead_s=1e-3,
    round_overhead_s=3e-4,
)
MODELS: dict[str, CostModel] = {
    "roofline": RooflineCost(gpu=H200, target=TARGET, draft=DRAFT),
    "no draft model": RooflineCost(gpu=H200, target=TARGET),
    "declared": DeclaredCost(c_T_s=0.018, delta=0.01, d=0.1125, overhead=0.05, prefill_s_per_token=1e-4),
    "experts, two GPUs": RooflineCost(gpu=H200, target=MOE, draft=DRAFT, tensor_parallel_size=2),
    "windowed": RooflineCost(gpu=H200, target=WINDOWED, draft=WINDOWED),
    "head": RooflineCost(gpu=H200, target=TARGET, draft=head_for(HeadKind.EAGLE3, TARGET, 8)),
    "heads at once": RooflineCost(gpu=H200, target=TARGET, draft=head_for(HeadKind.MEDUSA, TARGET, 8)),
    "remote draft": RooflineCost(gpu=H200, target=TARGET, draft=DRAFT, draft_gpu=gpu_named("L40S"), round_trip_s=0.02),
    "padded": RooflineCost(gpu=H200, target=TARGET, draft=DRAFT, pad_to_cuda_graphs=True),
    "table": TABLE,
}
models = pytest.mark.parametrize("cost", MODELS.values(), ids=MODELS.keys())
numbers = st.integers(min_value=0, max_value=200)


@models
@given(seqs=st.integers(1, 200), drafts=numbers, context=st.integers(0, 10**6), passes=numbers)
def test_more_work_never_takes_less_time(cost: CostModel, seqs: int, drafts: int, context: int, passes: int) -> None:
    base = cost.decode_s(seqs, drafts, context, passes)
    assert cost.decode_s(seqs, drafts + seqs, context, passes) >= base
    assert cost.decode_s(seqs, drafts, context + 1000, passes) >= base
    assert cost.decode_s(seqs, drafts, context, passes + 1) >= base


@models
def test_a_run_of_steps_costs_what_its_steps_cost(cost: CostModel) -> None:
    drafts = np.array([0, 8, 16, 64])
    context = np.array([100, 200, 300, 4000])
    passes = np.array([0, 8, 8, 8])
    run = np.broadcast_to(cost.decode_s(8.0, drafts, context, passes), (4,))
    steps = [cost.decode_s(8, int(a), int(b), int(c)) for a, b, c in zip(drafts, context, passes, strict=True)]
    assert run == pytest.approx(steps, rel=1e-15)


@models
@given(seqs=st.integers(0, 64), drafts=numbers, tokens=st.integers(1, 8192), cached=st.integers(0, 100_000))
def test_prefill_adds_to_the_same_step_without_it(
    cost: CostModel, seqs: int, drafts: int, tokens: int, cached: int
) -> None:
    work = PrefillWork(tokens, tokens * cached + tokens * (tokens + 1) // 2, cached, 1)
    step = cost.step(seqs, drafts if seqs else 0, 4000 * seqs, 8, work)
    alone = float(cost.decode_s(seqs, drafts, 4000 * seqs, 8)) if seqs else 0.0
    assert step.decode_s == pytest.approx(alone)
    assert step.prefill_s > 0
    assert step.total_s == pytest.approx(step.decode_s + step.prefill_s + step.draft_prefill_s)


@models
@given(seqs=st.integers(1, 64), context=st.integers(0, 50_000), gamma=st.integers(1, 16))
def test_constants_read_back_reproduce_the_step(cost: CostModel, seqs: int, context: int, gamma: int) -> None:
    law = read_back(cost, n_seqs=seqs, context_tokens=context, gamma=gamma)
    step = float(cost.decode_s(seqs, seqs * gamma, seqs * context, gamma))
    assert law.c_T_s * law.round_cost(gamma) == pytest.approx(step, rel=1e-9)
    assert law.round_cost(0) == 1.0


def test_declared_constants_come_back_as_declared() -> None:
    cost = DeclaredCost(c_T_s=0.02, delta=0.013, d=0.11, overhead=0.07)
    law = read_back(cost, n_seqs=8, context_tokens=2048, gamma=8)
    assert (law.c_T_s, law.delta, law.d, law.o) == pytest.approx((0.02, 0.013, 0.11, 0.07))


def test_known_figures_of_the_declared_platform() -> None:
    """Parameters, bytes and the weight-read floors at 4.8 TB/s, computed from the published shapes."""
    assert TARGET.params == 32_762_123_264
    assert DRAFT.params == 4_022_468_096
    assert TARGET.kv_bytes_per_token == 262_144
    assert DRAFT.kv_bytes_per_token == 147_456
    assert TARGET.read_bytes / 4.8e12 == pytest.approx(13.33e-3, rel=1e-3)
    assert DRAFT.read_bytes / 4.8e12 == pytest.approx(1.676e-3, rel=1e-3)


def test_kv_room_of_the_declared_platform() -> None:
    with_draft = 16 * kv_blocks(H200, [TARGET, DRAFT], block_size=16, gpu_memory_utilization=0.9)
    alone = 16 * kv_blocks(H200, [TARGET], block_size=16, gpu_memory_utilization=0.9)
    assert with_draft == pytest.approx(141_000, rel=0.02)
    assert alone == pytest.approx(251_000, rel=0.02)


def test_step_time_lies_where_measured_bandwidth_use_puts_it() -> None:
    """70-80 % of the bandwidth: 16.7-19.0 ms a step; the draft within the 25 % that the ratio 0.186 is known to."""
    cost = RooflineCost(gpu=H200, target=TARGET, draft=DRAFT)
    c_T_s = cost.c_T_s(512)
    assert 16.7e-3 <= c_T_s <= 19.0e-3
    assert cost.draft_pass_s(1, 512) / c_T_s == pytest.approx(0.186, rel=0.25)


def test_a_model_that_does_not_fit_says_by_how_much() -> None:
    with pytest.raises(ValueError, match=r"Qwen3-32B .* do not fit on 1 x H100-SXM: \d+\.\d GB short"):
        kv_blocks(gpu_named("H100-SXM"), [TARGET, DRAFT], block_size=16, gpu_memory_utilization=0.8)


def test_unknown_names_get_the_nearest() -> None:
    with pytest.raises(ValueError, match="did you mean H200"):
        gpu_named("H2000")
    with pytest.raises(ValueError, match="did you mean Qwen3-32B"):
        model_named("Qwen3-32")


def test_linear_efficiency_scales_the_weights_only() -> None:
    slow = RooflineCost(gpu=H200, target=TARGET, efficiency=Efficiency(weights_bandwidth=0.38))
    fast = RooflineCost(gpu=H200, target=TARGET, efficiency=Efficiency(weights_bandwidth=0.76))
    extra = slow.c_T_s(0) - fast.c_T_s(0)
    assert extra == pytest.approx(TARGET.read_bytes / 4.8e12 / 0.76, rel=1e-9)
