"""Precision of weights and KV cache: what --quantization and --kv-cache-dtype change about a model."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum

from simulator.hardware.shape import ModelShape

INT4_BYTES = 0.5 + 2.5 / 128
"""Bytes of a 4-bit weight with a 16-bit scale and a 4-bit zero point per group of 128."""
MXFP4_BYTES = 0.5 + 1 / 32
"""Bytes of an MXFP4 weight: 4 bits, and 8 bits of scale per block of 32."""


class Quantization(StrEnum):
    """Precision of the weights."""

    AUTO = "auto"
    """As the model is published."""
    NONE = "none"
    """BF16."""
    FP8 = "fp8"
    """8-bit weights and products; vocabulary tables stay in BF16, as vLLM keeps them."""
    INT4 = "int4"
    """4-bit weights, BF16 products."""
    MXFP4 = "mxfp4"
    """4-bit routed experts; the rest in BF16."""


class KvCacheDtype(StrEnum):
    """Precision of the KV cache."""

    AUTO = "auto"
    """BF16."""
    FP8 = "fp8"


def with_precision(model: ModelShape, weights: Quantization, kv: KvCacheDtype) -> ModelShape:
    """*model* with weights and KV entries of the given precision.

    Raises ValueError for MXFP4 on a model without experts.
    """
    kv_bytes = 1.0 if kv is KvCacheDtype.FP8 else 2.0
    model = replace(model, bytes_per_kv=kv_bytes)
    if weights is Quantization.AUTO:
        return model
    if weights is Quantization.MXFP4 and model.experts is None:
        raise ValueError(f"mxfp4 quantizes routed experts, and {model.name} has none: use fp8 or int4")
    expert = MXFP4_BYTES if weights is Quantization.MXFP4 else None
    common = {Quantization.FP8: 1.0, Quantization.INT4: INT4_BYTES}.get(weights, 2.0)
    return replace(
        model,
        bytes_per_weight=common,
        expert_bytes_per_weight=expert,
        fp8_math=weights is Quantization.FP8,
        precision="bf16" if weights is Quantization.NONE else weights.value,
    )
