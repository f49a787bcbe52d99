"""The catalogue against published counts, and what precision, heads and memory make of it."""

from __future__ import annotations

import pytest

from simulator.hardware import (
    GPUS,
    MODELS,
    HeadKind,
    KvCacheDtype,
    Quantization,
    gpu_named,
    head_for,
    kv_blocks,
    model_named,
    with_precision,
)

PUBLISHED_PARAMS = {
    "Qwen3-32B": 32_762_123_264,
    "Qwen3-14B": 14_768_307_200,
    "Qwen3-8B": 8_190_735_360,
    "Qwen3-4B": 4_022_468_096,
    "Qwen3-1.7B": 1_720_574_976,
    "Qwen3-0.6B": 596_049_920,
    "Qwen3-30B-A3B": 30_532_122_624,
    "Qwen3-235B-A22B": 235_093_634_560,
    "Qwen2.5-7B": 7_615_616_512,
    "Qwen2.5-32B": 32_763_876_352,
    "Qwen2.5-72B": 72_706_203_648,
    "Llama-3.2-1B": 1_235_814_400,
    "Llama-3.2-3B": 3_212_749_824,
    "Llama-3.1-8B": 8_030_261_248,
    "Llama-3.1-70B": 70_553_706_496,
    "Llama-3.3-70B": 70_553_706_496,
    "gpt-oss-20b": 20_914_757_184,
    "gpt-oss-120b": 116_829_156_672,
    "DeepSeek-V3": 671_026_419_200,
    "Mistral-7B-v0.3": 7_248_023_552,
    "Mistral-Small-24B": 23_572_403_200,
    "Mistral-Large-123B": 122_610_069_504,
}


def test_every_model_has_its_published_parameter_count() -> None:
    assert {name: model.params for name, model in MODELS.items()} == PUBLISHED_PARAMS


@pytest.mark.parametrize(
    ("name", "active", "tables"),
    [("Qwen3-30B-A3B", 3.35e9, 2), ("gpt-oss-20b", 3.61e9, 1), ("gpt-oss-120b", 5.13e9, 1), ("DeepSeek-V3", 37e9, 1)],
)
def test_active_parameters_of_mixtures(name: str, active: float, tables: int) -> None:
    """Publishers count both vocabulary tables, or the output table only."""
    model = model_named(name)
    counted = model.active_params - (2 - tables) * model.table_params
    assert counted == pytest.approx(active, rel=0.015)


@pytest.mark.parametrize(
    ("name", "bytes_per_token"),
    [
        ("Qwen3-32B", 262_144),
        ("Qwen2.5-32B", 262_144),
        ("Qwen3-4B", 147_456),
        ("Llama-3.1-70B", 327_680),
        ("Llama-3.1-8B", 131_072),
        ("Qwen3-30B-A3B", 98_304),
        ("gpt-oss-120b", 73_728),
        ("gpt-oss-20b", 49_152),
        ("DeepSeek-V3", 70_272),
    ],
)
def test_kv_bytes_per_token(name: str, bytes_per_token: int) -> None:
    assert model_named(name).kv_bytes_per_token == bytes_per_token


@pytest.mark.parametrize(("name", "gigabytes"), [("gpt-oss-20b", 13.76), ("gpt-oss-120b", 65.25)])
def test_mxfp4_checkpoints_have_their_published_size(name: str, gigabytes: float) -> None:
    assert model_named(name).weight_bytes / 1e9 == pytest.approx(gigabytes, rel=0.005)


def test_every_gpu_has_a_price_and_peaks_in_order() -> None:
    for gpu in GPUS.values():
        assert gpu.price.usd_per_hour > 0
        assert gpu.fp8_flops >= gpu.bf16_flops > gpu.bandwidth_bytes_per_s > gpu.link_bytes_per_s
        assert 0 < gpu.idle_watts < gpu.max_watts


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("H100", "did you mean H100-SXM or H100-NVL or H100-PCIe?"),
        ("a100", "did you mean A100-80GB or A100-40GB?"),
        ("H2000", "did you mean H200?"),
        ("4090", "did you mean RTX-4090?"),
        ("", "is not in the catalogue (known"),
    ],
)
def test_names_that_begin_alike_are_offered_first(name: str, hint: str) -> None:
    with pytest.raises(ValueError) as raised:
        gpu_named(name)
    assert hint in str(raised.value)


def test_names_are_found_in_any_case_and_with_their_owner() -> None:
    assert gpu_named("h200") is GPUS["H200"]
    assert model_named("Qwen/qwen3-32b") is MODELS["Qwen3-32B"]


@pytest.mark.parametrize("weights", [Quantization.FP8, Quantization.INT4])
def test_quantization_shrinks_weights_and_leaves_tables(weights: Quantization) -> None:
    model = model_named("Qwen3-32B")
    small = with_precision(model, weights, KvCacheDtype.AUTO)
    share = {Quantization.FP8: 0.5, Quantization.INT4: 0.26}[weights]
    tables = 2 * model.table_params * 2
    assert small.weight_bytes - tables == pytest.approx((model.weight_bytes - tables) * share, rel=0.01)
    assert small.kv_bytes_per_token == model.kv_bytes_per_token
    assert small.fp8_math is (weights is Quantization.FP8)


def test_an_fp8_cache_takes_half_and_doubles_the_room() -> None:
    model = model_named("Qwen3-32B")
    half = with_precision(model, Quantization.AUTO, KvCacheDtype.FP8)
    assert half.kv_bytes_per_token == model.kv_bytes_per_token / 2
    room = [kv_blocks(gpu_named("H200"), [m], block_size=16, gpu_memory_utilization=0.9) for m in (model, half)]
    assert room[1] == pytest.approx(2 * room[0], abs=1)


def test_unquantized_gpt_oss_has_two_bytes_a_parameter() -> None:
    full = with_precision(model_named("gpt-oss-20b"), Quantization.NONE, KvCacheDtype.AUTO)
    assert full.weight_bytes == 2 * full.params


def test_mxfp4_needs_experts() -> None:
    with pytest.raises(ValueError, match="Qwen3-8B has none: use fp8 or int4"):
        with_precision(model_named("Qwen3-8B"), Quantization.MXFP4, KvCacheDtype.AUTO)


def test_heads_of_an_8b_model_have_their_published_size() -> None:
    """EAGLE for Llama-3.1-8B is published with 0.25 B parameters of its own, EAGLE-3 with 0.43 B."""
    target = model_named("Llama-3.1-8B")
    assert head_for(HeadKind.EAGLE, target, 4).weight_bytes / 2 == pytest.approx(0.25e9, rel=0.02)
    assert head_for(HeadKind.EAGLE3, target, 4).weight_bytes / 2 == pytest.approx(0.43e9, rel=0.05)


def test_medusa_has_weights_for_each_depth_and_reads_one_set_a_token() -> None:
    target = model_named("Llama-3.1-8B")
    two, four = (head_for(HeadKind.MEDUSA, target, depth) for depth in (2, 4))
    assert four.weight_bytes == 2 * two.weight_bytes
    assert four.read_bytes == two.read_bytes == two.weight_bytes / 2
    assert four.parallel


def test_an_mtp_layer_of_a_mixture_keeps_all_experts_and_reads_the_active_ones() -> None:
    """DeepSeek-V3's MTP module is published with 11.5 B parameters beside the tables that it shares."""
    target = model_named("DeepSeek-V3")
    head = head_for(HeadKind.MTP, target, 1)
    assert head.weight_bytes == pytest.approx(11.5e9, rel=0.03)
    assert head.read_bytes < 0.3 * head.weight_bytes


def test_tensor_parallel_groups_hold_what_one_gpu_cannot() -> None:
    target = model_named("Qwen2.5-72B")
    with pytest.raises(ValueError, match="short"):
        kv_blocks(gpu_named("H100-SXM"), [target], block_size=16, gpu_memory_utilization=0.9)
    assert kv_blocks(gpu_named("H100-SXM"), [target], block_size=16, gpu_memory_utilization=0.9, tensor_parallel_size=4)
