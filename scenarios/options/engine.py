"""What a user can set about hardware, models and engine, and about step times; None: the documented default."""

from __future__ import annotations

from dataclasses import dataclass

from scenarios.drafters.base import drafters
from scenarios.options.option import Section, option

DEFAULT_GAMMA = 8

_ENGINE, _CACHE, _COST, _SPECULATION = Section.ENGINE, Section.CACHE, Section.COST, Section.SPECULATION


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformOptions:
    """Hardware, models and engine, with vLLM's names."""

    speculative_method: str = option(
        "draft_model",
        f"draft_model, eagle, eagle3, mtp, medusa, {', '.join(drafters())} or none.",
        _SPECULATION,
        known="scenarios.options.names:methods",
    )
    draft_model: str = option(
        "Qwen3-4B", "Draft model by name, or its config.json.", _SPECULATION, known="scenarios.options.names:models"
    )
    draft_tree: str | None = option(
        None,
        "Draft a tree: a file, or medusa-1, medusa-2-low, medusa-2-high, eagle-1. Its nodes take the place of --gamma, "
        "its acceptance that of the profile.",
        _SPECULATION,
        known="scenarios.options.names:draft_trees",
        metavar="FILE|NAME",
    )
    num_speculative_tokens: int = DEFAULT_GAMMA
    """Set by the option gamma (scenarios/options/settings.py), which may name a depth by class too."""
    gpu: str = option("H200", "GPU by name.", _ENGINE, known="scenarios.options.names:gpus")
    model: str = option(
        "Qwen3-32B", "Target model by name, or its config.json.", _ENGINE, known="scenarios.options.names:models"
    )
    quantization: str = option("auto", "Weights: auto (as published), none, fp8, int4 or mxfp4.", _ENGINE)
    draft_quantization: str = option("auto", "The same of the draft model.", _ENGINE)
    kv_cache_dtype: str = option("auto", "auto (BF16) or fp8.", _ENGINE)
    draft_placement: str = option(
        "local", "local: draft on the target's GPUs; separate: on one more GPU; remote: across a network.", _ENGINE
    )
    draft_gpu: str | None = option(
        None, "GPU of a draft that is not local; as --gpu.", _ENGINE, known="scenarios.options.names:gpus"
    )
    rtt_ms: float | None = option(None, "Round trip between draft and target in ms.", _ENGINE)
    cuda_graph_padding: bool = option(False, "Pad steps to captured graph sizes.", _ENGINE)
    tensor_parallel_size: int = option(1, "GPUs a replica.", _ENGINE, flags=("-tp",), least=1)
    max_num_seqs: int | None = option(None, "Sequences in a batch.", _ENGINE)
    max_num_batched_tokens: int | None = option(None, "Token budget of a step.", _ENGINE)
    max_model_len: int | None = option(None, "Tokens of prompt and output.", _ENGINE)
    num_gpu_blocks: int | None = option(None, "KV blocks, instead of what the memory gives.", _ENGINE)
    gpu_memory_utilization: float | None = option(None, "Share of the memory that the engine may use.", _ENGINE)
    enable_chunked_prefill: bool = option(True, "Chunk prompts.", _ENGINE)
    long_prefill_token_threshold: int | None = option(None, "Largest prefill chunk; 0: no limit.", _ENGINE)
    enable_prefix_caching: bool = option(True, "Reuse KV blocks.", _CACHE)
    block_size: int | None = option(None, "Tokens a KV block.", _CACHE)
    gpu_price_per_hour: float | None = option(None, "USD per GPU-hour.", _COST)
    prices: str | None = option(None, "TOML or JSON with [usd_per_gpu_hour] by GPU.", _COST, metavar="FILE")
    idle_watts: float | None = option(None, "Power of an idle board.", _COST)
    max_watts: float | None = option(None, "Power of a busy board.", _COST)


@dataclass(frozen=True, slots=True, kw_only=True)
class CostOptions:
    """Step times in place of the roofline's: the law's constants, any of which makes all of them count, or a table."""

    c_T_ms: float | None = option(
        None, "Declared c_T: a target pass in ms. Any of these five replaces the roofline.", _ENGINE
    )
    delta: float | None = option(None, "Declared delta: per extra token.", _ENGINE)
    d: float | None = option(None, "Declared d: per draft pass.", _ENGINE)
    overhead: float | None = option(None, "Declared o: per round, relative to c_T.", _ENGINE)
    prefill_us_per_token: float | None = option(None, "Declared prefill time in us a token.", _ENGINE)
    table: str | None = option(
        None, "Measured step times (benchmarks/measure_gpu.py).", _ENGINE, name="cost_table", metavar="FILE"
    )

    @property
    def declared(self) -> bool:
        """Whether any constant is given."""
        return any(getattr(self, name) is not None for name in self.__slots__ if name != "table")
