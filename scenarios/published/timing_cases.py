"""Published timing measurements and what the cost models predict for each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from scenarios.published.publishedcases import PublishedCase
from scenarios.published.steady import Steady, Traffic, steady_state
from simulator.cost import Efficiency, RooflineCost
from simulator.hardware import (
    GpuFamily,
    HeadKind,
    ModelShape,
    gpu_named,
    head_for,
    kv_blocks,
    model_named,
)

Case = PublishedCase
Efficiencies = Callable[[GpuFamily], Efficiency]


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured quantity with its prediction, in the unit that *quantity* names."""

    quantity: str
    predicted: float
    measured: float
    kind: str
    """tpot, throughput, ttft or ratio: the goals differ."""

    @property
    def error(self) -> float:
        """Relative error of the prediction."""
        return self.predicted / self.measured - 1.0


@dataclass(frozen=True, slots=True)
class Predictor:
    """How a case is predicted, and what its source leaves open."""

    family: GpuFamily
    assumed: str
    predict: Callable[[Case, Efficiencies], list[Figure]]
    clean: bool = True
    """Whether GPU, model, batch and acceptance are known well enough to fit to."""


CHAT_PROMPT, CHAT_OUTPUT = 200, 512
"""Tokens of a chat request where a source does not say: MT-bench-like prompts, outputs cut at 512."""
SHAREGPT_PROMPT, SHAREGPT_OUTPUT = 225, 200
"""Mean tokens of the ShareGPT set as vLLM's benchmark samples it."""


def cost_of(
    use: Efficiencies,
    gpu: str,
    model: str | ModelShape,
    *,
    head: HeadKind | None = None,
    draft: str | None = None,
    gamma: int = 0,
    tp: int = 1,
) -> RooflineCost:
    """The roofline of one set-up, with the efficiencies of its GPU's family."""
    device = gpu_named(gpu)
    target = model_named(model) if isinstance(model, str) else model
    drafter = model_named(draft) if draft else head_for(head, target, gamma) if head else None
    return RooflineCost(
        gpu=device, target=target, draft=drafter, efficiency=use(device.family), tensor_parallel_size=tp
    )


def _chat(
    cost: RooflineCost, n_seqs: float = 1, gamma: int = 0, length: float = 1.0, prompt: int = CHAT_PROMPT
) -> Steady:
    traffic = Traffic(
        n_seqs=n_seqs, prompt_tokens=prompt, output_tokens=CHAT_OUTPUT, gamma=gamma, acceptance_length=length
    )
    return steady_state(cost, traffic)


def _angelslim(model: str) -> Predictor:
    def predict(case: Case, use: Efficiencies) -> list[Figure]:
        measured = case.measured
        plain = _chat(cost_of(use, "H20", model)).tpot_s
        head = cost_of(use, "H20", model, head=HeadKind.EAGLE3)
        spec = _chat(head, 1, 2, measured["acceptance_length"]).tpot_s
        return [
            Figure("tok/s without speculation", 1 / plain, measured["vanilla_tok_s"], "throughput"),
            Figure("tok/s, EAGLE-3 gamma 2", 1 / spec, measured["eagle3_tok_s"], "throughput"),
        ]

    return Predictor(GpuFamily.HOPPER, "context of about 450 tokens; head with a 32,000-token vocabulary", predict)


def _planned_pair(case: Case, use: Efficiencies) -> list[Figure]:
    measured = case.measured
    target, draft, small = (_chat(cost_of(use, "H20", name)).tpot_s for name in ("Qwen3-32B", "Qwen3-4B", "Qwen3-1.7B"))
    return [
        Figure("ms a step, Qwen3-32B", target * 1e3, measured["step_ms_32b"], "tpot"),
        Figure("ms a step, Qwen3-4B", draft * 1e3, measured["step_ms_4b"], "tpot"),
        Figure("step ratio 4B / 32B", draft / target, measured["d"], "ratio"),
        Figure("step ratio 1.7B / 32B", small / target, measured["d_1.7b"], "ratio"),
    ]


def _vllm_eagle(case: Case, use: Efficiencies) -> list[Figure]:
    plain = _chat(cost_of(use, "H100-SXM", "Llama-3.1-8B")).tpot_s
    figures = [Figure("TPOT ms without speculation", plain * 1e3, case.inputs["vanilla_tpot_ms"], "tpot")]
    measured = case.measured
    for gamma, length, tpot in zip(
        case.inputs["gamma"], measured["acceptance_length"], measured["tpot_ms"], strict=True
    ):
        cost = cost_of(use, "H100-SXM", "Llama-3.1-8B", head=HeadKind.EAGLE)
        found = _chat(cost, 1, gamma, length).tpot_s
        figures.append(Figure(f"TPOT ms, EAGLE gamma {gamma}", found * 1e3, tpot, "tpot"))
    slope, fixed = np.polyfit(case.inputs["gamma"], _round_costs(case, use), 1)
    line = measured["derived_fit"]
    return [
        *figures,
        Figure("round cost / c_T, fixed part", float(fixed), line["intercept"], "ratio"),
        Figure("round cost / c_T, per draft", float(slope), line["slope_per_token"], "ratio"),
    ]


def _round_costs(case: Case, use: Efficiencies) -> list[float]:
    cost = cost_of(use, "H100-SXM", "Llama-3.1-8B", head=HeadKind.EAGLE)
    context = CHAT_PROMPT + CHAT_OUTPUT / 2
    alone = float(cost.decode_s(1, 0, context, 0))
    return [float(cost.decode_s(1, gamma, context, gamma)) / alone for gamma in case.inputs["gamma"]]


_MT_BENCH_LENGTHS = {("eagle1", "2"): 2.10, ("eagle1", "4"): 2.39, ("eagle1", "7"): 2.47, ("eagle3", "2"): 2.36}
"""Acceptance lengths of the same heads on the same set, from the newer build's report."""


def _vllm_eagle_older(case: Case, use: Efficiencies) -> list[Figure]:
    plain = 1 / _chat(cost_of(use, "H100-SXM", "Llama-3.1-8B")).tpot_s
    figures = [Figure("tok/s without speculation", plain, case.inputs["vanilla_tok_s"], "throughput")]
    for (head, gamma), length in _MT_BENCH_LENGTHS.items():
        kind = HeadKind.EAGLE if head == "eagle1" else HeadKind.EAGLE3
        cost = cost_of(use, "H100-SXM", "Llama-3.1-8B", head=kind)
        found = 1 / _chat(cost, 1, int(gamma), length).tpot_s
        measured = case.measured[f"{head}_tok_s"][gamma]
        figures.append(Figure(f"tok/s, {head} gamma {gamma}", found, measured, "throughput"))
    return figures


def _cost_model(case: Case, use: Efficiencies) -> list[Figure]:
    cost = cost_of(use, "H100-SXM", "Llama-3.1-8B")
    host_s = cost.efficiency.step_overhead_s
    figures = []
    for batch, delta in case.measured["derived_delta_by_batch"].items():
        count = int(batch)
        one = float(cost.decode_s(count, 0, 0, 0)) - host_s - count * cost.efficiency.sequence_overhead_s
        extra = float(cost.decode_s(count, 2 * count, 0, 0)) - float(cost.decode_s(count, count, 0, 0))
        figures.append(Figure(f"delta at b = {batch}, host time left out", extra / one, delta, "ratio"))
    return figures


def _oracle_drafts(case: Case, use: Efficiencies) -> list[Figure]:
    cost = cost_of(use, "H100-SXM", "Qwen3-8B")
    inputs, measured = case.inputs, case.measured
    figures = []
    for count, depth, plain, oracle in zip(
        inputs["concurrency"], inputs["oracle_k"], measured["baseline_tok_s"], measured["oracle_tok_s"], strict=True
    ):
        found = _chat(cost, count).output_tokens_per_s
        figures.append(Figure(f"tok/s at c = {count}", found, plain, "throughput"))
        found = _chat(cost, count, depth, depth + 1).output_tokens_per_s
        figures.append(Figure(f"tok/s at c = {count}, {depth} perfect drafts", found, oracle, "throughput"))
    return figures


_DECLINE_LENGTH = 2.391
"""EAGLE's acceptance length on GSM8K at three drafts, from the recorded acceptance of the same study."""


def _batch_decline(case: Case, use: Efficiencies) -> list[Figure]:
    cost = cost_of(use, "H100-SXM", "Llama-3.1-8B", head=HeadKind.EAGLE)

    def speedup(count: int) -> float:
        context = count * 400.0
        round_s = float(cost.decode_s(count, 3 * count, context, 3))
        return _DECLINE_LENGTH * float(cost.decode_s(count, 0, context, 0)) / round_s

    measured = case.measured
    kept = 1 - measured["decline_b1_to_b32_sharegpt_pct"]["8B"] / 100
    return [
        Figure("EAGLE speedup at b = 128", speedup(128), measured["llama31_8b_gsm8k_b128"], "ratio"),
        Figure("share of the speedup left at b = 32", speedup(32) / speedup(1), kept, "ratio"),
    ]


def _suffix_by_concurrency(case: Case, use: Efficiencies) -> list[Figure]:
    cost = cost_of(use, "H200", "Llama-3.1-8B")
    gamma, tpot = case.inputs["gamma"], case.measured["tpot_ms"]
    alone = _chat(cost, 1, gamma, 2.0).tpot_s
    return [
        Figure(f"TPOT at c = {count} over c = 1", _chat(cost, count, gamma, 2.0).tpot_s / alone, ms / tpot[0], "ratio")
        for count, ms in zip(case.inputs["concurrency"][1:], tpot[1:], strict=True)
    ]


def _moe_a100(case: Case, use: Efficiencies) -> list[Figure]:
    cost = cost_of(use, "A100-80GB", "Qwen3-30B-A3B")
    figures = [
        Figure(f"TPOT ms after {prompt} tokens", _chat(cost, prompt=prompt).tpot_s * 1e3, ms, "tpot")
        for prompt, ms in zip(case.inputs["input_len"], case.measured["tpot_ms"], strict=True)
    ]
    found = _chat(cost, prompt=8192).ttft_s
    return [*figures, Figure("TTFT ms of 8192 tokens", found * 1e3, case.measured["ttft_ms_8192"], "ttft")]


_HYBRID_27B = ModelShape(
    name="27B hybrid", layers=64, hidden=5120, heads=24, kv_heads=4, head_dim=256, intermediate=17408,
    vocab=248320, tied_embeddings=False, max_model_len=262144, window_tokens=1, window_layers=48,
    source="stand-in: 16 full-attention layers, the other 48 as attention over one token",
)  # fmt: skip


def _hybrid_prefill(case: Case, use: Efficiencies) -> list[Figure]:
    found = _chat(cost_of(use, "H200", _HYBRID_27B), prompt=case.inputs["input_len"]).ttft_s
    return [Figure("TTFT ms of 8192 tokens", found * 1e3, case.measured["ttft_ms_8192"], "ttft")]


def _sharegpt(cost: RooflineCost, n_seqs: float) -> Steady:
    traffic = Traffic(n_seqs=n_seqs, prompt_tokens=SHAREGPT_PROMPT, output_tokens=SHAREGPT_OUTPUT)
    return steady_state(cost, traffic)


def _nvl(case: Case, use: Efficiencies) -> list[Figure]:
    found = _sharegpt(cost_of(use, "H100-NVL", "Qwen3-32B"), case.inputs["max_num_seqs"])
    return [
        Figure("output tok/s, 32 sequences", found.output_tokens_per_s, case.measured["output_tok_s"], "throughput")
    ]


def _saturated(case: Case, use: Efficiencies) -> list[Figure]:
    figures = []
    for key, gpu in (("h100", "H100-SXM"), ("a100", "A100-80GB")):
        cost = cost_of(use, gpu, "Qwen3-32B")
        blocks = kv_blocks(cost.gpu, [cost.target], block_size=16, gpu_memory_utilization=0.9)
        found = _sharegpt(cost, 16 * blocks / (SHAREGPT_PROMPT + SHAREGPT_OUTPUT / 2))
        total = found.output_tokens_per_s * (1 + SHAREGPT_PROMPT / SHAREGPT_OUTPUT)
        measured = case.measured[key]
        figures += [
            Figure(f"total tok/s, {gpu}", total, measured["total_tok_s"], "throughput"),
            Figure(f"TPOT ms, {gpu}", found.tpot_s * 1e3, measured["tpot_ms"], "tpot"),
        ]
    return figures


def _moe_two_gpus(case: Case, use: Efficiencies) -> list[Figure]:
    cost = cost_of(use, "H100-SXM", "Qwen3-30B-A3B", tp=2)
    return [
        Figure(f"tok/s at b = {count}", _chat(cost, count).output_tokens_per_s, measured, "throughput")
        for count, measured in zip(case.inputs["batch"], case.measured["base_tok_s"], strict=True)
    ]


def _bfcl(prompt: float, output: float, gamma: int, length: float, count: int, use: Efficiencies, head: bool) -> float:
    kind = HeadKind.EAGLE3 if head else None
    cost = cost_of(use, "RTX-PRO-6000", "gpt-oss-20b", head=kind, gamma=gamma)
    traffic = Traffic(
        n_seqs=count, prompt_tokens=round(prompt), output_tokens=output, gamma=gamma, acceptance_length=length
    )
    return steady_state(cost, traffic).output_tokens_per_s


def _bfcl_heads(case: Case, use: Efficiencies) -> list[Figure]:
    inputs, measured = case.inputs, case.measured
    prompt = inputs["prompt_tokens"] / inputs["requests"]
    figures = []
    for count, length, tokens, rate in zip(
        inputs["batch"],
        measured["acceptance_length"],
        measured["completion_tokens"],
        measured["completion_tok_s"],
        strict=True,
    ):
        found = _bfcl(prompt, tokens / inputs["requests"], inputs["gamma"], length, count, use, head=True)
        figures.append(Figure(f"tok/s at c = {count}, EAGLE-3 gamma 6", found, rate, "throughput"))
    return figures


def _bfcl_suffix(case: Case, use: Efficiencies) -> list[Figure]:
    measured = case.measured
    figures = []
    for count, length, rate, accepted in zip(
        case.inputs["batch"],
        measured["acceptance_length"],
        measured["completion_tok_s"],
        measured["draft_acceptance_rate"],
        strict=True,
    ):
        drafted = round((length - 1) / accepted)
        found = _bfcl(242, 122, drafted, length, count, use, head=False)
        figures.append(Figure(f"tok/s at c = {count}, suffix", found, rate, "throughput"))
    return figures


def _bfcl_sweep(case: Case, use: Efficiencies) -> list[Figure]:
    measured = case.measured
    found = _bfcl(242, 122, 2, measured["eagle3_gamma2_AL"], 8, use, head=True)
    return [Figure("tok/s at c = 8, EAGLE-3 gamma 2", found, measured["eagle3_tok_s"]["2"], "throughput")]


def _small_pair(case: Case, use: Efficiencies) -> list[Figure]:
    measured = case.measured
    plain = _chat(cost_of(use, "L40S", "Qwen3-8B")).tpot_s
    paired = cost_of(use, "L40S", "Qwen3-8B", draft="Qwen3-0.6B")
    figures = [Figure("s for 512 tokens", 512 * plain, measured["base_s"][0], "tpot")]
    for length, seconds in zip(measured["draft_AL"], measured["draft_s"], strict=True):
        found = 512 * _chat(paired, 1, case.inputs["gamma"], length).tpot_s
        figures.append(Figure(f"s for 512 tokens, 0.6B draft, length {length}", found, seconds, "tpot"))
    return figures


_HOPPER = GpuFamily.HOPPER

PREDICTORS: dict[str, Predictor] = {
    "vllm20780-eagle1-8b": Predictor(_HOPPER, "H100 SXM, as other reports of this model", _vllm_eagle),
    "vllm-pr16937-8b-h100": Predictor(_HOPPER, "acceptance lengths of the newer build", _vllm_eagle_older),
    "bfcl-gptoss20b-eagle3": Predictor(GpuFamily.BLACKWELL, "GPU not stated: RTX PRO 6000", _bfcl_heads, clean=False),
    "bfcl-gptoss20b-suffix": Predictor(GpuFamily.BLACKWELL, "GPU not stated: RTX PRO 6000", _bfcl_suffix, clean=False),
    "bfcl-gptoss20b-gamma-sweep": Predictor(
        GpuFamily.BLACKWELL, "GPU not stated: RTX PRO 6000", _bfcl_sweep, clean=False
    ),
    "qwen3-8b-0.6b-compare": Predictor(GpuFamily.ADA, "GPU not stated: L40S", _small_pair, clean=False),
    **{
        f"angelslim-{name.lower()}": _angelslim(name)
        for name in ("Qwen3-1.7B", "Qwen3-4B", "Qwen3-8B", "Qwen3-14B", "Qwen3-30B-A3B")
    },
    "angelslim-d-4b-over-32b": Predictor(_HOPPER, "context of about 450 tokens", _planned_pair),
    "sdbench-costmodel-8b-h100": Predictor(_HOPPER, "H100 SXM", _cost_model),
    "jiangllm-oracle-8b-h100": Predictor(_HOPPER, "prompts of 200, outputs of 512 tokens", _oracle_drafts),
    "sdbench-batch-decline": Predictor(_HOPPER, "three drafts, contexts of 400 tokens", _batch_decline),
    "vllm-pr25784-suffix-h200": Predictor(
        _HOPPER, "model not stated: 8B, 5 drafts, length 2.0", _suffix_by_concurrency, clean=False
    ),
    "qwen3-30ba3b-a100": Predictor(GpuFamily.AMPERE, "one GPU; number not stated", _moe_a100, clean=False),
    "qwen36-27b-h200-sglang": Predictor(_HOPPER, "stand-in shape for a hybrid model", _hybrid_prefill, clean=False),
    "qwen3-32b-h100nvl": Predictor(_HOPPER, "ShareGPT of 225 + 200 tokens", _nvl, clean=False),
    "gpustack-qwen3-32b": Predictor(
        _HOPPER, "ShareGPT of 225 + 200 tokens; batch as the KV cache allows", _saturated, clean=False
    ),
    "specforge339-moe": Predictor(_HOPPER, "tensor parallel over 2; without speculation", _moe_two_gpus),
}
