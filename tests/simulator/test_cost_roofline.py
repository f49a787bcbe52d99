"""The parts of the roofline: experts, windows, tensor parallelism, heads, placement, padding, precision."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simulator.cost import DEFAULT_EFFICIENCY, PrefillWork, RooflineCost, efficiency_of, source_of
from simulator.cost.cudagraph import CAPTURE_SIZES, padded_tokens
from simulator.cost.links import all_reduce_s
from simulator.hardware import (
    GpuFamily,
    HeadKind,
    KvCacheDtype,
    Quantization,
    gpu_named,
    head_for,
    model_named,
    with_precision,
)
from simulator.lawcosts import read_back

H200 = gpu_named("H200")
H100 = gpu_named("H100-SXM")
DENSE = model_named("Qwen3-32B")
SMALL = model_named("Qwen3-4B")
MOE = model_named("Qwen3-30B-A3B")


def weights_s(read_bytes: float, gpus: int = 1) -> float:
    return read_bytes / (4.8e12 * DEFAULT_EFFICIENCY.weights_bandwidth * gpus)


@pytest.mark.parametrize("tokens", [1, 3, 40])
def test_experts_read_are_those_of_independent_routing(tokens: int) -> None:
    """Against a simulation of routing: each token draws its experts without repetition."""
    assert MOE.experts is not None
    generator = np.random.default_rng(0)
    count, active = MOE.experts.count, MOE.experts.active
    drawn = [
        len({e for _ in range(tokens) for e in generator.choice(count, active, replace=False).tolist()})
        for _ in range(2000)
    ]
    cost = RooflineCost(gpu=H200, target=MOE)
    dense = replace(MOE, experts=replace(MOE.experts, count=8))  # all its experts are read by every token
    compute_s = tokens * MOE.flops_per_token / (H200.bf16_flops * DEFAULT_EFFICIENCY.flops)
    fixed_s = weights_s(dense.common_read_bytes) + DEFAULT_EFFICIENCY.step_overhead_s
    host_s = DEFAULT_EFFICIENCY.sequence_overhead_s * tokens
    router_s = weights_s(MOE.common_read_bytes - dense.common_read_bytes)
    read_s = float(cost.decode_s(tokens, 0, 0, 0)) - compute_s - fixed_s - host_s - router_s
    assert read_s / weights_s(MOE.expert_read_bytes) == pytest.approx(np.mean(drawn), rel=0.01)


def test_verification_costs_a_mixture_more_than_a_dense_model() -> None:
    """The published constants at b = 1: delta + d of 0.247 for 30B-A3B, 0.058 for dense 32B."""
    moe, dense = (
        read_back(RooflineCost(gpu=H200, target=m), n_seqs=1, context_tokens=500, gamma=2) for m in (MOE, DENSE)
    )
    assert moe.delta > 4 * dense.delta


def test_prefill_beside_decoding_reads_the_experts_that_decoding_left() -> None:
    cost = RooflineCost(gpu=H200, target=MOE)
    work = PrefillWork(512, 512 * 513 // 2, 0, 1)
    alone, beside = cost.step(0, 0, 0, 0, work), cost.step(64, 0, 6400, 0, work)
    assert beside.prefill_s < alone.prefill_s - 0.9 * weights_s(MOE.read_bytes)


def test_windowed_layers_stop_reading_at_the_window() -> None:
    model = model_named("gpt-oss-20b")
    cost = RooflineCost(gpu=H200, target=model)
    kv = 4.8e12 * DEFAULT_EFFICIENCY.kv_bandwidth
    inside = float(cost.decode_s(1, 0, 100, 0)) - float(cost.decode_s(1, 0, 50, 0))
    outside = float(cost.decode_s(1, 0, 10_050, 0)) - float(cost.decode_s(1, 0, 10_000, 0))
    assert inside == pytest.approx(50 * model.kv_bytes_per_token / kv, rel=1e-6)
    assert outside == pytest.approx(25 * model.kv_bytes_per_token / kv, rel=1e-6)


def test_tensor_parallelism_divides_work_and_adds_all_reduces() -> None:
    one, four = (RooflineCost(gpu=H200, target=DENSE, tensor_parallel_size=n).c_T_s(4000) for n in (1, 4))
    host_s = DEFAULT_EFFICIENCY.step_overhead_s + DEFAULT_EFFICIENCY.sequence_overhead_s
    sync = all_reduce_s(H200, 4, DENSE.layers, DENSE.hidden)
    assert four == pytest.approx((one - host_s) / 4 + host_s + sum(sync), rel=1e-9)


def test_all_reduce_bytes_follow_the_ring() -> None:
    fixed_s, token_s = all_reduce_s(H100, 2, 80, 8192)
    assert fixed_s == pytest.approx(160 * 8e-6)
    assert token_s == pytest.approx(160 * 8192 * 2 / (450e9 * 0.7))
    assert all_reduce_s(H100, 1, 80, 8192) == (0.0, 0.0)


def test_pcie_costs_more_than_nvlink() -> None:
    bridge = replace(H100, link=gpu_named("H100-PCIe").link, link_bytes_per_s=64e9)
    assert all(a > b for a, b in zip(all_reduce_s(bridge, 2, 32, 4096), all_reduce_s(H100, 2, 32, 4096), strict=True))


@pytest.mark.parametrize("kind", [HeadKind.EAGLE, HeadKind.EAGLE3, HeadKind.MTP])
def test_heads_pay_a_pass_a_token(kind: HeadKind) -> None:
    cost = RooflineCost(gpu=H200, target=DENSE, draft=head_for(kind, DENSE, 8))
    times = [float(cost.decode_s(4, 4 * 8, 4000, passes)) for passes in (0, 1, 8)]
    assert times[2] - times[0] == pytest.approx(8 * (times[1] - times[0]), rel=1e-9)
    assert cost.draft_pass_s(4, 4000) < 0.3 * RooflineCost(gpu=H200, target=DENSE, draft=SMALL).draft_pass_s(4, 4000)


def test_parallel_heads_pay_their_overhead_once() -> None:
    cost = RooflineCost(gpu=H200, target=DENSE, draft=head_for(HeadKind.MEDUSA, DENSE, 8))
    none, one, eight = (float(cost.decode_s(1, 8, 4000, passes)) for passes in (0, 1, 8))
    once_s = DEFAULT_EFFICIENCY.draft_pass_overhead_s + DEFAULT_EFFICIENCY.draft_layer_overhead_s
    assert eight - none == pytest.approx(8 * (one - none - once_s) + once_s, rel=1e-9)


def test_a_round_trip_is_paid_once_a_round_and_only_when_drafting() -> None:
    near = RooflineCost(gpu=H200, target=DENSE, draft=SMALL, draft_gpu=H200)
    far = replace(near, round_trip_s=0.01)
    drafts, passes = np.array([0, 8]), np.array([0, 8])
    gap = np.asarray(far.decode_s(1.0, drafts, 1000, passes)) - np.asarray(near.decode_s(1.0, drafts, 1000, passes))
    assert gap == pytest.approx([0.0, 0.01])


def test_a_draft_on_its_own_gpu_prefills_beside_the_target() -> None:
    work = PrefillWork(4096, 4096 * 4097 // 2, 0, 1)
    local = RooflineCost(gpu=H200, target=DENSE, draft=SMALL)
    own = replace(local, draft_gpu=H200)
    slow = replace(local, draft_gpu=replace(gpu_named("L40S"), bf16_flops=10e12))
    assert local.step(0, 0, 0, 0, work).draft_prefill_s > 0
    assert own.step(0, 0, 0, 0, work).draft_prefill_s == 0
    assert slow.step(0, 0, 0, 0, work).draft_prefill_s > local.step(0, 0, 0, 0, work).draft_prefill_s


@pytest.mark.parametrize("tokens", [1, 3, 4, 5, 9, 200, 257, 512, 513, 4000])
def test_steps_are_padded_to_the_next_graph(tokens: int) -> None:
    padded = padded_tokens(tokens)
    larger = [size for size in CAPTURE_SIZES if size >= tokens]
    assert padded == (min(larger) if larger else tokens)
    assert np.asarray(padded_tokens(np.array([tokens]))).tolist() == [padded]


def test_padding_costs_what_the_padded_tokens_cost() -> None:
    plain = RooflineCost(gpu=H200, target=DENSE)
    padded = replace(plain, pad_to_cuda_graphs=True)
    assert padded.decode_s(3, 6, 0, 0) - plain.decode_s(3, 6, 0, 0) == pytest.approx(
        7 * DENSE.flops_per_token / (H200.bf16_flops * DEFAULT_EFFICIENCY.flops)
    )


def test_fp8_halves_reading_and_doubles_the_rate_of_products() -> None:
    half = with_precision(DENSE, Quantization.FP8, KvCacheDtype.AUTO)
    full_cost, half_cost = RooflineCost(gpu=H200, target=DENSE), RooflineCost(gpu=H200, target=half)
    saved = full_cost.c_T_s(0) - half_cost.c_T_s(0)
    assert saved == pytest.approx(weights_s(DENSE.common_params), rel=0.01)
    work = PrefillWork(8192, 8192 * 8193 // 2, 0, 1)
    ratio = full_cost.step(1, 0, 0, 0, work).prefill_s / half_cost.step(1, 0, 0, 0, work).prefill_s
    assert ratio == pytest.approx(1979 / 989, rel=1e-6)
    on_ampere = RooflineCost(gpu=gpu_named("A100-80GB"), target=half).step(1, 0, 0, 0, work).prefill_s
    assert on_ampere == pytest.approx(
        RooflineCost(gpu=gpu_named("A100-80GB"), target=DENSE).step(1, 0, 0, 0, work).prefill_s, rel=1e-9
    )


def test_every_family_has_efficiencies_and_says_whose_they_are() -> None:
    for family in GpuFamily:
        assert 0 < efficiency_of(family).weights_bandwidth < 1
        assert ("carried over" in source_of(family, "flops")) is (family is not GpuFamily.HOPPER)
    assert source_of(GpuFamily.HOPPER, "kv_bandwidth").startswith("declared")
