"""Tensor parallelism: the all-reduces after attention and after the MLP of every layer."""

from __future__ import annotations

from simulator.hardware.gpus import Gpu, LinkKind

ALL_REDUCE_LATENCY_S = {LinkKind.NVLINK: 8e-6, LinkKind.INFINITY_FABRIC: 12e-6, LinkKind.PCIE: 25e-6}
"""Seconds of an all-reduce of a few kilobytes inside one host. Declared."""
LINK_SHARE = 0.7
"""Of the link's bandwidth that large all-reduces reach. Declared."""
_ACTIVATION_BYTES = 2.0
_PER_LAYER = 2


def all_reduce_s(gpu: Gpu, tensor_parallel_size: int, layers: int, hidden: int) -> tuple[float, float]:
    """Seconds of a pass for all-reduces: fixed, and per token; both 0 on one GPU.

    Formula: a ring moves 2 (n - 1) / n of the *hidden* activations over each link, twice a layer.
    """
    if tensor_parallel_size == 1:
        return 0.0, 0.0
    moved = 2.0 * (tensor_parallel_size - 1) / tensor_parallel_size * hidden * _ACTIVATION_BYTES
    count = _PER_LAYER * layers
    return count * ALL_REDUCE_LATENCY_S[gpu.link], count * moved / (gpu.link_bytes_per_s * LINK_SHARE)
