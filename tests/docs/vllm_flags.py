"""vLLM's flags and what they are here. Same names are found by comparing; only differences are written down.

A value is an option's key, or a sentence in its place; None: an option of the same name.
"""

from __future__ import annotations

from scenarios.options.settings import all_options
from tests.docs.markdown import cell, code, table

SERVE: dict[str, str | None] = {
    "model": None,
    "tokenizer": None,
    "quantization": None,
    "kv-cache-dtype": None,
    "tensor-parallel-size": None,
    "max-model-len": None,
    "max-num-seqs": None,
    "max-num-batched-tokens": None,
    "enable-chunked-prefill": None,
    "long-prefill-token-threshold": None,
    "enable-prefix-caching": None,
    "block-size": None,
    "gpu-memory-utilization": None,
    "num-gpu-blocks-override": "num_gpu_blocks",
    "data-parallel-size": "replicas",
    "kv-offloading-size": "kv_offload_gb",
    "tool-call-parser": "output_format",
    "reasoning-parser": "output_format",
    "seed": None,
    "speculative-config": "one option a key, see below",
    "kv-transfer-config": "`--prefill-replicas` and `--kv-transfer-gb-per-s` stand for its effect",
    "pipeline-parallel-size": "not modelled",
    "enable-expert-parallel": "not modelled: experts are sharded over the tensor-parallel GPUs",
    "scheduling-policy": "not modelled: first come, first served",
    "enforce-eager": "not modelled; `--cuda-graph-padding` pads steps to captured sizes",
    "api-server-count": "not modelled: no time passes outside the engine",
}
"""Flags of ``vllm serve``."""

SPECULATION: dict[str, str | None] = {
    "num_speculative_tokens": "gamma",
    "method": "speculative_method",
    "model": "draft_model",
    "quantization": "draft_quantization",
    "prompt_lookup_min": None,
    "prompt_lookup_max": None,
    "suffix_decoding_max_tree_depth": None,
    "suffix_decoding_max_cached_requests": None,
    "suffix_decoding_max_spec_factor": None,
    "suffix_decoding_min_token_prob": None,
    "num_speculative_tokens_per_batch_size": "gamma_by_batch_size",
    "draft_tensor_parallel_size": "not modelled: the draft is sharded as the target is",
    "draft_sample_method": "not modelled: acceptance is what the profile says",
}
"""Keys of ``--speculative-config``."""

BENCH: dict[str, str | None] = {
    "request-rate": None,
    "burstiness": None,
    "max-concurrency": None,
    "self-timed": None,
    "num-warmups": None,
    "goodput": None,
    "metric-percentiles": None,
    "seed": None,
    "percentile-metrics": "every metric is always reported",
    "dataset-name": "format",
    "dataset-path": "the argument TRACE",
    "num-prompts": "the whole recording is replayed; `simtool synth --sessions` makes more or fewer",
    "save-result": "`--json FILE`, whose `vllm_compat` has the benchmark's own keys",
    "save-detailed": "`--output-dir`: turns.parquet has a row a request",
    "plot-timeline": "`--timeline FILE`, for ui.perfetto.dev",
    "ramp-up-strategy": "`--arrival-profile` gives requests/s hour by hour",
    "disable-tqdm": "`--no-progress`",
}
"""Flags of ``vllm bench serve``."""


def serve() -> str:
    return _table(SERVE, "--", "flag of vllm serve")


def speculation() -> str:
    return _table(SPECULATION, "", "key")


def bench() -> str:
    return _table(BENCH, "--", "flag of vllm bench serve")


def only_simtool() -> str:
    """Options that no flag of vLLM stands for, section by section."""
    here = mapped()
    rows: dict[str, list[str]] = {}
    for key, one in all_options().items():
        if key not in here:
            rows.setdefault(one.option.section.value, []).append(_flag(key))
    return table(["section", "options"], ([cell(name), ", ".join(flags)] for name, flags in rows.items()))


def mapped() -> set[str]:
    """Keys of options that some flag of vLLM stands for."""
    found = {_key(flag, given) for part in (SERVE, SPECULATION, BENCH) for flag, given in part.items()}
    return {key for key in found if key in all_options()}


def unknown() -> list[str]:
    """Flags said to have a namesake here that have none."""
    parts = (SERVE, SPECULATION, BENCH)
    return [
        flag
        for part in parts
        for flag, given in part.items()
        if given is None and _key(flag, None) not in all_options()
    ]


def _key(flag: str, given: str | None) -> str:
    return flag.replace("-", "_") if given is None else given


def _table(flags: dict[str, str | None], dashes: str, head: str) -> str:
    rows = []
    for flag, given in flags.items():
        key = _key(flag, given)
        if key not in all_options():
            rows.append([code(dashes + flag), key, ""])
            continue
        same = "same name" if key == flag.replace("-", "_") else ""
        rows.append([code(dashes + flag), _flag(key), same])
    return table([head, "in simtool", ""], rows)


def _flag(key: str) -> str:
    return code("--" + key.replace("_", "-"))
