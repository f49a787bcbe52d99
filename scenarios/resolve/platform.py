"""Resolves hardware, engine and step time from the options, as vLLM resolves its defaults for the device."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from scenarios.options.parameters import ParameterBook
from scenarios.options.replay import CostOptions, PlatformOptions
from scenarios.resolve.hardwarechoice import Hardware, resolve_hardware
from scenarios.resolve.pricefile import price_for
from scenarios.resolve.stepcost import REFERENCE_CONTEXT_TOKENS, resolve_costs
from simulator.cluster import ClusterConfig
from simulator.config import MODELLED_ENGINE, EngineConfig, SpeculativeMethod
from simulator.cost import CostModel
from simulator.energy import BoardPower
from simulator.hardware import Gpu, kv_blocks
from simulator.origin import Origin

__all__ = ["REFERENCE_CONTEXT_TOKENS", "Platform", "resolve_platform"]

_VLLM = "vLLM's default for this device"
_LARGE_DEVICE_BYTES = 70 * 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """A resolved engine: with speculation, and the same one without."""

    gpu: Gpu
    engine: EngineConfig
    cost: CostModel
    baseline_engine: EngineConfig
    baseline_cost: CostModel
    gpu_usd_per_s: float
    """Price of all GPUs of one replica, a drafter's own one included."""
    n_gpus: int
    baseline_gpu_usd_per_s: float
    """The same without a drafter's own GPU."""
    baseline_n_gpus: int
    power: tuple[BoardPower, ...]
    """Power of each GPU of one replica."""
    baseline_power: tuple[BoardPower, ...]
    kv_bytes_per_token: float
    """KV of a token on one replica's GPUs, a local draft's included."""
    baseline_kv_bytes_per_token: float
    cluster: ClusterConfig = field(default_factory=ClusterConfig)
    baseline_cluster: ClusterConfig = field(default_factory=ClusterConfig)

    @property
    def relative_price(self) -> float:
        """Price of a replica's second with speculation to that without: above 1 if the draft has its own GPU."""
        return self.gpu_usd_per_s / self.baseline_gpu_usd_per_s if self.baseline_gpu_usd_per_s else 1.0


def resolve_platform(options: PlatformOptions, costs: CostOptions, book: ParameterBook) -> Platform:
    """The platform that *options* describe, each parameter recorded in *book*.

    Raises ValueError, with the option's name, for unknown names, values out of range, and models that do not fit;
    TraceError for files that cannot be used.
    """
    book.add("modelled_engine", MODELLED_ENGINE, Origin.DECLARED, "the behaviour that is replayed")
    hardware = resolve_hardware(options, book)
    engine = _engine(options, hardware, book)
    alone = replace(hardware, draft=None, method=SpeculativeMethod.NONE, draft_gpu=None, round_trip_s=0.0)
    same_length = replace(options, max_model_len=engine.max_model_len)
    baseline = _engine(same_length, alone, ParameterBook())
    cost, baseline_cost = resolve_costs(costs, hardware, cuda_graph_padding=options.cuda_graph_padding, book=book)
    tp = hardware.tensor_parallel_size
    usd_per_hour, draft_usd_per_hour = _prices(options, hardware, book)
    power = _power(options, hardware.gpu, book)
    own = () if hardware.draft_gpu is None else (BoardPower.of(hardware.draft_gpu),)
    return Platform(
        gpu=hardware.gpu,
        engine=engine,
        cost=cost,
        baseline_engine=baseline,
        baseline_cost=baseline_cost,
        gpu_usd_per_s=(usd_per_hour * tp + draft_usd_per_hour) / 3600.0,
        n_gpus=tp + len(own),
        baseline_gpu_usd_per_s=usd_per_hour * tp / 3600.0,
        baseline_n_gpus=tp,
        power=(power,) * tp + own,
        baseline_power=(power,) * tp,
        kv_bytes_per_token=sum(model.kv_bytes_per_token for model in hardware.resident),
        baseline_kv_bytes_per_token=hardware.target.kv_bytes_per_token,
    )


def _prices(options: PlatformOptions, hardware: Hardware, book: ParameterBook) -> tuple[float, float]:
    """USD per hour of one of the target's GPUs, and of the drafter's own one (0 without)."""
    table = Path(options.prices) if options.prices is not None else None
    listed = price_for(hardware.gpu, table)
    given = options.gpu_price_per_hour
    if given is not None and not 0 <= given < float("inf"):
        raise ValueError(f"--gpu-price-per-hour is {given}; it must be 0 or more")
    usd = float(cast("float", book.choose("gpu_price_per_hour", given, listed.usd_per_hour, listed.source)))
    if hardware.draft_gpu is None:
        return usd, 0.0
    if given is not None and hardware.draft_gpu.name == hardware.gpu.name:
        book.add("draft_gpu_price_per_hour", given, Origin.DECLARED, "given")
        return usd, given
    own = price_for(hardware.draft_gpu, table)
    book.add("draft_gpu_price_per_hour", own.usd_per_hour, Origin.DECLARED, own.source)
    return usd, own.usd_per_hour


def _power(options: PlatformOptions, gpu: Gpu, book: ParameterBook) -> BoardPower:
    idle = cast("float", book.choose("idle_watts", options.idle_watts, gpu.idle_watts, gpu.source))
    limit = cast("float", book.choose("max_watts", options.max_watts, gpu.max_watts, gpu.source))
    return BoardPower(idle_watts=idle, max_watts=limit)


def _engine(options: PlatformOptions, hardware: Hardware, book: ParameterBook) -> EngineConfig:
    large = hardware.gpu.memory_bytes >= _LARGE_DEVICE_BYTES
    block_size = cast("int", book.choose("block_size", options.block_size, 16, _VLLM))
    if block_size < 1:
        raise ValueError(f"--block-size is {block_size}; it must be at least 1")
    blocks = _blocks(options, hardware, block_size, book)
    length = options.max_model_len
    if length is None:
        length = min(hardware.target.max_model_len, blocks * block_size)
        book.add("max_model_len", length, Origin.DERIVED, "the model's maximum (with YaRN) or the KV cache, if smaller")
    else:
        book.add("max_model_len", length, Origin.DECLARED, "given")
    tokens = cast(
        "int", book.choose("max_num_batched_tokens", options.max_num_batched_tokens, 8192 if large else 2048, _VLLM)
    )
    seqs = cast("int", book.choose("max_num_seqs", options.max_num_seqs, min(tokens, 1024 if large else 256), _VLLM))
    threshold = book.choose("long_prefill_token_threshold", options.long_prefill_token_threshold, 0, _VLLM)
    gamma = options.num_speculative_tokens if hardware.method is not SpeculativeMethod.NONE else 0
    if gamma and hardware.tree is not None:
        gamma = hardware.tree.tree().width
        book.add("num_speculative_tokens", gamma, Origin.DECLARED, "nodes of the draft tree")
    else:
        book.add("num_speculative_tokens", gamma, Origin.DECLARED, "gamma")
    none = hardware.method is SpeculativeMethod.NONE
    method = hardware.method.value if none or hardware.tree is not None else options.speculative_method
    book.add("speculative_method", method, Origin.DECLARED, "given or default platform")
    book.add("enable_prefix_caching", options.enable_prefix_caching, Origin.DECLARED, _VLLM)
    book.add("enable_chunked_prefill", options.enable_chunked_prefill, Origin.DECLARED, _VLLM)
    return EngineConfig(
        max_num_seqs=seqs,
        max_num_batched_tokens=tokens,
        max_model_len=length,
        block_size=block_size,
        num_gpu_blocks=blocks,
        enable_prefix_caching=options.enable_prefix_caching,
        enable_chunked_prefill=options.enable_chunked_prefill,
        long_prefill_token_threshold=cast("int", threshold),
        num_speculative_tokens=gamma,
        speculative_method=hardware.method,
    )


def _blocks(options: PlatformOptions, hardware: Hardware, block_size: int, book: ParameterBook) -> int:
    """KV blocks: as given, or what the memory leaves on the target's GPUs and on the drafter's own one."""
    used = cast("float", book.choose("gpu_memory_utilization", options.gpu_memory_utilization, 0.9, _VLLM))
    if not 0 < used <= 1:
        raise ValueError(f"--gpu-memory-utilization is {used}; it must be above 0 and at most 1")
    if options.num_gpu_blocks is not None:
        book.add("num_gpu_blocks", options.num_gpu_blocks, Origin.DECLARED, "given")
        return options.num_gpu_blocks
    blocks = kv_blocks(
        hardware.gpu,
        hardware.resident,
        block_size=block_size,
        gpu_memory_utilization=used,
        tensor_parallel_size=hardware.tensor_parallel_size,
    )
    if hardware.draft_gpu is not None and hardware.draft is not None:
        own = kv_blocks(hardware.draft_gpu, [hardware.draft], block_size=block_size, gpu_memory_utilization=used)
        blocks = min(blocks, own)
    book.add("num_gpu_blocks", blocks, Origin.DERIVED, "memory left beside the weights of all models")
    return blocks
