"""Hugging Face configurations as model shapes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.hardware import MODELS, ConfigError, ModelShape, shape_from_config

QWEN3_32B: dict[str, Any] = {
    "model_type": "qwen3",
    "hidden_size": 5120,
    "num_attention_heads": 64,
    "num_hidden_layers": 64,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "intermediate_size": 25600,
    "vocab_size": 151936,
    "max_position_embeddings": 40960,
    "tie_word_embeddings": False,
    "attention_bias": False,
    "use_sliding_window": False,
    "sliding_window": None,
}
GPT_OSS_20B: dict[str, Any] = {
    "model_type": "gpt_oss",
    "hidden_size": 2880,
    "num_attention_heads": 64,
    "num_hidden_layers": 24,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "intermediate_size": 2880,
    "vocab_size": 201088,
    "max_position_embeddings": 131072,
    "tie_word_embeddings": False,
    "attention_bias": True,
    "num_local_experts": 32,
    "num_experts_per_tok": 4,
    "sliding_window": 128,
    "layer_types": ["sliding_attention", "full_attention"] * 12,
    "quantization_config": {"quant_method": "mxfp4"},
}
DEEPSEEK_V3: dict[str, Any] = {
    "model_type": "deepseek_v3",
    "hidden_size": 7168,
    "num_attention_heads": 128,
    "num_hidden_layers": 61,
    "num_key_value_heads": 128,
    "intermediate_size": 18432,
    "moe_intermediate_size": 2048,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "num_experts_per_tok": 8,
    "first_k_dense_replace": 3,
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "v_head_dim": 128,
    "vocab_size": 129280,
    "max_position_embeddings": 163840,
    "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
}
QWEN3_30B: dict[str, Any] = {
    **QWEN3_32B,
    "model_type": "qwen3_moe",
    "hidden_size": 2048,
    "num_attention_heads": 32,
    "num_hidden_layers": 48,
    "num_key_value_heads": 4,
    "intermediate_size": 6144,
    "moe_intermediate_size": 768,
    "num_experts": 128,
    "num_experts_per_tok": 8,
    "decoder_sparse_step": 1,
    "mlp_only_layers": [],
}
LLAMA_3B: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 3072,
    "num_attention_heads": 24,
    "num_hidden_layers": 28,
    "num_key_value_heads": 8,
    "intermediate_size": 8192,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "tie_word_embeddings": True,
}
QWEN25_7B: dict[str, Any] = {
    "model_type": "qwen2",
    "hidden_size": 3584,
    "num_attention_heads": 28,
    "num_hidden_layers": 28,
    "num_key_value_heads": 4,
    "intermediate_size": 18944,
    "vocab_size": 152064,
    "max_position_embeddings": 32768,
    "sliding_window": 131072,
    "use_sliding_window": False,
    "max_window_layers": 28,
}


@pytest.mark.parametrize(
    ("config", "name"),
    [
        (QWEN3_32B, "Qwen3-32B"),
        (GPT_OSS_20B, "gpt-oss-20b"),
        (DEEPSEEK_V3, "DeepSeek-V3"),
        (QWEN3_30B, "Qwen3-30B-A3B"),
        (LLAMA_3B, "Llama-3.2-3B"),
        (QWEN25_7B, "Qwen2.5-7B"),
    ],
)
def test_a_published_configuration_gives_the_catalogue_entry(config: dict[str, Any], name: str) -> None:
    found, known = shape_from_config(config, name), MODELS[name]
    figures = ("params", "active_params", "weight_bytes", "read_bytes", "kv_bytes_per_token", "full_kv_bytes_per_token")
    assert [getattr(found, one) for one in figures] == [getattr(known, one) for one in figures]
    assert found.precision == known.precision


def test_text_part_of_a_multimodal_configuration_is_read() -> None:
    found = shape_from_config({"model_type": "x_vl", "text_config": QWEN3_32B, "vision_config": {}}, "m")
    assert found.params == MODELS["Qwen3-32B"].params


def test_windows_of_all_layers_and_of_none() -> None:
    mistral = {**LLAMA_3B, "model_type": "mistral", "sliding_window": 4096}
    assert (shape_from_config(mistral, "m").window_tokens, shape_from_config(mistral, "m").window_layers) == (4096, 28)
    assert shape_from_config({**mistral, "sliding_window": None}, "m").window_layers == 0


def test_dense_layers_between_experts_are_counted() -> None:
    found = shape_from_config({**QWEN3_30B, "decoder_sparse_step": 2, "mlp_only_layers": [1]}, "m")
    assert found.experts is not None
    assert found.experts.dense_layers == 25
    assert found.expert_layers == 23


@pytest.mark.parametrize(
    ("stored", "precision"),
    [
        ({"quant_method": "awq", "bits": 4}, "int4"),
        ({"quant_method": "compressed-tensors", "config_groups": {"g": {"weights": {"num_bits": 8}}}}, "fp8"),
        ({"quant_method": "compressed-tensors", "config_groups": {"g": {"weights": {"num_bits": 4}}}}, "int4"),
        ({"quant_method": "fp8"}, "fp8"),
    ],
)
def test_stored_precision(stored: dict[str, Any], precision: str) -> None:
    assert shape_from_config({**QWEN3_32B, "quantization_config": stored}, "m").precision == precision


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden_size": None}, "hidden_size: is missing"),
        ({"num_hidden_layers": 0}, "num_hidden_layers: is 0; it must be a whole number above 0"),
        ({"num_hidden_layers": "64"}, "num_hidden_layers: is '64'"),
        ({"num_hidden_layers": True}, "num_hidden_layers: is True"),
        ({"num_key_value_heads": 7}, "num_key_value_heads: 7 does not divide"),
        ({"head_dim": None, "num_attention_heads": 48}, "num_attention_heads: 48 does not divide hidden_size 5120"),
        ({"is_encoder_decoder": True}, "only decoder-only"),
        ({"ssm_cfg": {"layer": "Mamba1"}}, "state-space"),
        ({"layer_types": ["linear_attention", "full_attention"]}, "linear_attention has another cost"),
        ({"quantization_config": {"quant_method": "aqlm"}}, "quantization_config: aqlm"),
        ({"quantization_config": {"quant_method": "compressed-tensors", "config_groups": [1]}}, "quantization_config"),
        ({"num_experts": 8, "num_experts_per_tok": 9, "moe_intermediate_size": 8}, "9 exceeds num_experts 8"),
    ],
)
def test_unusable_configurations_name_the_key(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        shape_from_config({**QWEN3_32B, **change}, "m")


values = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 40), st.floats(), st.text(max_size=4), st.lists(st.text(max_size=8)),
    st.dictionaries(st.text(max_size=4), st.integers(), max_size=2),
)  # fmt: skip


@given(st.dictionaries(st.sampled_from(sorted({*QWEN3_30B, *GPT_OSS_20B, *DEEPSEEK_V3})), values, max_size=5))
def test_any_configuration_is_read_or_refused(change: dict[str, Any]) -> None:
    try:
        shape = shape_from_config({**QWEN3_30B, **change}, "m")
    except ConfigError:
        return
    assert isinstance(shape, ModelShape)
    assert shape.params > 0
    assert shape.weight_bytes > 0
