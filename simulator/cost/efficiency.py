"""Shares of a GPU's peak that an engine reaches, and its fixed times: one set per GPU family."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.hardware.gpus import GpuFamily


@dataclass(frozen=True, slots=True, kw_only=True)
class Efficiency:
    """Shares of the hardware's peak that are reached, and fixed times.

    Target passes run as one captured graph, draft passes layer by layer: only those pay per layer.
    """

    weights_bandwidth: float = 0.775
    """Of the memory bandwidth, when weights are read. Fitted."""
    kv_bandwidth: float = 0.90
    """Of the memory bandwidth, when KV entries are read. Declared."""
    flops: float = 0.732
    """Of the dense peak, for the matrix products of decoding and verification. Fitted."""
    prefill_flops: float = 0.60
    """Of the dense peak, for prompts. Declared: TTFT of 8,192 tokens, 27B on an H200 and 72B on two H100."""
    step_overhead_s: float = 1.42e-3
    """Host and sampler time of each step. Fitted."""
    sequence_overhead_s: float = 5e-6
    """Host and sampler time of each sequence in a step. Declared."""
    round_overhead_s: float = 0.28e-3
    """Host and sampler time that a step with drafts adds: the law's o times c_T. Fitted."""
    draft_pass_overhead_s: float = 0.088e-3
    """Host and sampler time of each draft pass. Fitted."""
    draft_layer_overhead_s: float = 50e-6
    """Launches and small kernels of each layer of a draft pass. Declared: between the step ratio of Qwen3-4B and 32B
    served alone (0.186) and the pass ratio of a 0.6B draft inside an 8B engine (0.375)."""


DEFAULT_EFFICIENCY = Efficiency()
"""Fitted on Hopper GPUs."""

FITTED = ("weights_bandwidth", "flops", "step_overhead_s", "round_overhead_s", "draft_pass_overhead_s")
"""What benchmarks/fit_efficiency.py fits; the rest is declared, since no clean timing isolates it."""

EFFICIENCIES: dict[GpuFamily, Efficiency] = dict.fromkeys(GpuFamily, DEFAULT_EFFICIENCY)
"""One set a family. Only Hopper has published timings enough that name GPU, model and batch; the others carry it."""


def efficiency_of(family: GpuFamily) -> Efficiency:
    """The efficiencies of a GPU family."""
    return EFFICIENCIES[family]


def source_of(family: GpuFamily, name: str) -> str:
    """Where the value *name* of a family's efficiencies comes from."""
    basis = "fitted to half of the published timings" if name in FITTED else "declared from published figures"
    return basis if family is GpuFamily.HOPPER else f"{basis} of Hopper GPUs, carried over"
