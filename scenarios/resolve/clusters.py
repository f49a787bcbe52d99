"""Resolves replicas, router and KV tiers from the options, for the platform with speculation and without."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from scenarios.options.parameters import ParameterBook
from scenarios.options.replay import OptionError
from scenarios.options.serving import ClusterOptions
from scenarios.resolve.platform import Platform
from simulator.cluster import ClusterConfig
from simulator.origin import Origin
from simulator.router import DEFAULT_ROUTER, check_router

NETWORK_GB_PER_S = 50.0
"""One 400 Gbit/s network port per replica."""
HOST_GB_PER_S = 50.0
"""What PCIe 5.0 x16 (64 GB/s by name) gives a copy from host memory."""


def with_cluster(platform: Platform, options: ClusterOptions, book: ParameterBook) -> Platform:
    """*platform* with the cluster that *options* describe, each parameter recorded in *book*. Raises OptionError."""
    try:
        check_router(options.router or DEFAULT_ROUTER)
    except ValueError as error:
        raise OptionError(str(error)) from None
    if options.kv_offload_gb < 0:
        raise OptionError(f"--kv-offload-gb is {options.kv_offload_gb}; it must not be negative")
    book.add("replicas", options.replicas, Origin.DECLARED, "given" if options.replicas != 1 else "default")
    if options.replicas > 1:
        source = "as vLLM's data-parallel load balancer"
        book.choose("router", options.router, DEFAULT_ROUTER, source)
    network = host = None
    if options.prefill_replicas:
        book.add("prefill_replicas", options.prefill_replicas, Origin.DECLARED, "given")
        network = _rate("kv_transfer_gb_per_s", options.kv_transfer_gb_per_s, NETWORK_GB_PER_S, "400 Gbit/s", book)
    if options.kv_offload_gb:
        book.add("kv_offload_gb", options.kv_offload_gb, Origin.DECLARED, "given: host memory per replica")
        host = _rate("kv_offload_gb_per_s", options.kv_offload_gb_per_s, HOST_GB_PER_S, "PCIe 5.0 x16", book)
    clusters = [
        _config(options, token_bytes, platform.engine.block_size, network, host)
        for token_bytes in (platform.kv_bytes_per_token, platform.baseline_kv_bytes_per_token)
    ]
    return replace(platform, cluster=clusters[0], baseline_cluster=clusters[1])


def _rate(name: str, given: float | None, default: float, source: str, book: ParameterBook) -> float:
    value = float(cast("float", book.choose(name, given, default, source)))
    if not value > 0:
        raise OptionError(f"--{name.replace('_', '-')} is {value}; it must be above 0")
    return value


def _config(
    options: ClusterOptions, token_bytes: float, block_size: int, network: float | None, host: float | None
) -> ClusterConfig:
    block_bytes = token_bytes * block_size
    blocks = int(options.kv_offload_gb * 1e9 // block_bytes)
    if options.kv_offload_gb and not blocks:
        raise OptionError(f"--kv-offload-gb {options.kv_offload_gb} is less than one block ({block_bytes / 1e9:g} GB)")
    try:
        return ClusterConfig(
            num_replicas=options.replicas,
            router=options.router or DEFAULT_ROUTER,
            num_prefill_replicas=options.prefill_replicas,
            kv_transfer_s_per_token=token_bytes / (network * 1e9) if network else 0.0,
            host_blocks=blocks,
            host_load_s_per_block=block_bytes / (host * 1e9) if host else 0.0,
        )
    except ValueError as error:
        raise OptionError(str(error)) from error
