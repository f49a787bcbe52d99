"""A model's shape from its Hugging Face configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simulator.hardware.precision import KvCacheDtype, Quantization, with_precision
from simulator.hardware.shape import Experts, Latent, ModelShape

_QKV_BIAS = ("qwen2", "qwen2_moe", "gpt_oss")
_QK_NORM = ("qwen3", "qwen3_moe", "gemma3_text", "olmo2")
_TIED_UNLESS_SAID = ("gemma", "gemma2", "gemma3_text")
_NOT_MODELLED = {
    "ssm_cfg": "state-space layers",
    "mamba_d_state": "state-space layers",
    "linear_num_value_heads": "linear attention",
    "compress_ratios": "compressed attention",
    "index_topk": "sparse attention",
}


class ConfigError(ValueError):
    """A configuration that no shape can be made of; *key* is the entry at fault."""

    def __init__(self, key: str, reason: str) -> None:
        self.key = key
        super().__init__(f"{key}: {reason}")


def shape_from_config(config: Mapping[str, Any], name: str) -> ModelShape:
    """The shape that *config*, the content of a config.json, describes; *name* is what to call it.

    Llama, Qwen, Mistral, Mixtral, gpt-oss and DeepSeek configurations are read by their own rules, others as a
    Llama-like decoder if their keys are the same. Raises ConfigError for missing or impossible entries and for
    architectures whose cost is not modelled.
    """
    text = config.get("text_config")
    if isinstance(text, Mapping):
        config = {
            **text,
            **{key: config[key] for key in ("quantization_config", "tie_word_embeddings") if key in config},
        }
    _refuse(config)
    kind = str(config.get("model_type", ""))
    hidden, heads, layers = (_count(config, key) for key in ("hidden_size", "num_attention_heads", "num_hidden_layers"))
    window_tokens, window_layers = _windows(config, layers)
    experts = _experts(config, layers, kind)
    shape = ModelShape(
        name=name,
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=_count(config, "num_key_value_heads", heads),
        head_dim=_head_dim(config, hidden, heads),
        intermediate=_count(config, "intermediate_size", 0 if experts and not experts.dense_layers else None),
        vocab=_count(config, "vocab_size"),
        tied_embeddings=bool(config.get("tie_word_embeddings", kind in _TIED_UNLESS_SAID)),
        max_model_len=_count(config, "max_position_embeddings"),
        qkv_bias=bool(config.get("attention_bias", kind in _QKV_BIAS)),
        output_bias=bool(config.get("attention_bias", kind == "gpt_oss")),
        qk_norm=kind in _QK_NORM,
        attention_sinks=kind == "gpt_oss",
        window_tokens=window_tokens,
        window_layers=window_layers,
        experts=experts,
        latent=_latent(config),
        source=f"config.json of model_type {kind or 'unknown'}",
    )
    if shape.heads % shape.kv_heads:
        raise ConfigError("num_key_value_heads", f"{shape.kv_heads} does not divide num_attention_heads {heads}")
    return with_precision(shape, _stored_precision(config), KvCacheDtype.AUTO)


def _refuse(config: Mapping[str, Any]) -> None:
    if config.get("is_encoder_decoder"):
        raise ConfigError("is_encoder_decoder", "only decoder-only models are modelled")
    for key, what in _NOT_MODELLED.items():
        if config.get(key):
            raise ConfigError(key, f"{what} has another cost than the attention that is modelled")
    kinds = {str(kind) for kind in _list(config, "layer_types")}
    strange = sorted(kinds - {"full_attention", "sliding_attention"})
    if strange:
        raise ConfigError("layer_types", f"{', '.join(strange)} has another cost than the attention that is modelled")


def _count(config: Mapping[str, Any], key: str, default: int | None = None) -> int:
    value = config.get(key)
    if value is None:
        if default is None:
            raise ConfigError(key, "is missing; the configuration of a decoder-only model has it")
        return default
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigError(key, f"is {value!r}; it must be a whole number above 0")
    return value


def _whole(config: Mapping[str, Any], key: str) -> int:
    """A whole number of 0 or more; 0 where it is missing."""
    value = config.get(key)
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ConfigError(key, f"is {value!r}; it must be a whole number of 0 or more")
    return value


def _list(config: Mapping[str, Any], key: str) -> list[Any]:
    value = config.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise ConfigError(key, f"is {value!r}; it must be a list")
    return value


def _head_dim(config: Mapping[str, Any], hidden: int, heads: int) -> int:
    if config.get("head_dim") is not None:
        return _count(config, "head_dim")
    if hidden % heads:
        raise ConfigError(
            "num_attention_heads", f"{heads} does not divide hidden_size {hidden}, and head_dim is missing"
        )
    return hidden // heads


def _windows(config: Mapping[str, Any], layers: int) -> tuple[int, int]:
    """Window in tokens, and how many layers have it."""
    window = _whole(config, "sliding_window")
    if not window or config.get("use_sliding_window") is False:
        return 0, 0
    kinds = _list(config, "layer_types")
    if kinds:
        windowed = sum(kind == "sliding_attention" for kind in kinds)
    elif config.get("model_type") == "gpt_oss":
        windowed = layers - layers // 2
    elif config.get("max_window_layers") is not None:
        windowed = max(0, layers - _whole(config, "max_window_layers"))
    else:
        windowed = layers
    return (window, min(windowed, layers)) if windowed else (0, 0)


def _experts(config: Mapping[str, Any], layers: int, kind: str) -> Experts | None:
    names = ("num_experts", "num_local_experts", "n_routed_experts")
    key = next((name for name in names if config.get(name)), None)
    if key is None:
        return None
    count = _count(config, key)
    active = _count(config, "num_experts_per_tok", _whole(config, "experts_per_token") or None)
    if active > count:
        raise ConfigError("num_experts_per_tok", f"{active} exceeds {key} {count}")
    width = _count(config, "moe_intermediate_size", _whole(config, "intermediate_size") or None)
    shared = _whole(config, "n_shared_experts") * width or _whole(config, "shared_expert_intermediate_size")
    return Experts(
        count=count,
        active=active,
        intermediate=width,
        shared_intermediate=shared,
        dense_layers=_dense_layers(config, layers),
        router_bias=kind in ("gpt_oss", "deepseek_v3"),
        expert_bias=kind == "gpt_oss",
    )


def _dense_layers(config: Mapping[str, Any], layers: int) -> int:
    if config.get("first_k_dense_replace"):
        return min(layers, _count(config, "first_k_dense_replace"))
    every = _whole(config, "decoder_sparse_step") or 1
    only = _list(config, "mlp_only_layers")
    return sum(layer in only or (layer + 1) % every != 0 for layer in range(layers))


def _latent(config: Mapping[str, Any]) -> Latent | None:
    if not config.get("kv_lora_rank"):
        return None
    return Latent(
        q_rank=_whole(config, "q_lora_rank"),
        kv_rank=_count(config, "kv_lora_rank"),
        rope_dim=_count(config, "qk_rope_head_dim"),
        nope_dim=_count(config, "qk_nope_head_dim"),
        value_dim=_count(config, "v_head_dim"),
    )


def _stored_precision(config: Mapping[str, Any]) -> Quantization:
    stored = config.get("quantization_config")
    if not isinstance(stored, Mapping):
        return Quantization.AUTO
    method = str(stored.get("quant_method", "unknown"))
    if method in ("fp8", "fbgemm_fp8"):
        return Quantization.FP8
    if method == "mxfp4":
        return Quantization.MXFP4
    if method in ("awq", "gptq", "auto-round") and stored.get("bits", 4) == 4:
        return Quantization.INT4
    if method == "compressed-tensors":
        bits = _bits_of_groups(stored.get("config_groups"))
        if bits == {8}:
            return Quantization.FP8
        if bits == {4}:
            return Quantization.INT4
    raise ConfigError(
        "quantization_config", f"{method} is not fp8, mxfp4 or 4-bit; take the BF16 model's configuration"
    )


def _bits_of_groups(groups: object) -> set[object]:
    found: set[object] = set()
    for group in groups.values() if isinstance(groups, Mapping) else ():
        weights = group.get("weights") if isinstance(group, Mapping) else None
        bits = weights.get("num_bits") if isinstance(weights, Mapping) else None
        found.add(bits if isinstance(bits, int) else None)
    return found
