"""GPU memory: what of it is left for the KV cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from simulator.hardware.gpus import Gpu

ACTIVATION_BYTES = 3e9
"""What activations, CUDA graphs and the runtime take per GPU. Declared."""


class Resident(Protocol):
    """Something whose weights and KV lie in GPU memory: a model or a draft head."""

    @property
    def name(self) -> str:
        """For error messages."""
        ...

    @property
    def weight_bytes(self) -> float:
        """Bytes of its weights."""
        ...

    @property
    def kv_bytes_per_token(self) -> float:
        """Bytes of its KV per token."""
        ...


def kv_blocks(
    gpu: Gpu,
    models: Sequence[Resident],
    *,
    block_size: int,
    gpu_memory_utilization: float,
    tensor_parallel_size: int = 1,
    activation_bytes: float = ACTIVATION_BYTES,
) -> int:
    """KV blocks that fit beside the weights of *models*, as vLLM sizes its cache.

    *activation_bytes* is what activations, CUDA graphs and the runtime take per GPU. Raises ValueError saying by how
    many bytes the models do not fit.
    """
    usable = (gpu.memory_bytes * gpu_memory_utilization - activation_bytes) * tensor_parallel_size
    weights = sum(model.weight_bytes for model in models)
    per_block = block_size * sum(model.kv_bytes_per_token for model in models)
    left = usable - weights
    if left < per_block:
        names = " and ".join(model.name for model in models)
        raise ValueError(
            f"{names} ({weights / 1e9:.1f} GB of weights) do not fit on {tensor_parallel_size} x {gpu.name}: "
            f"{(per_block - left) / 1e9:.1f} GB short at --gpu-memory-utilization {gpu_memory_utilization}; "
            "raise --tensor-parallel-size, take a GPU with more memory or --quantization fp8"
        )
    return int(left // per_block)
