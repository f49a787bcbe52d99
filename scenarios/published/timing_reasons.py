"""Why a prediction misses a published timing, and why some timings are not predicted.

Reasons begin with "known" where the source or a second measurement says so, and with "supposed" where it does not.
"""

from __future__ import annotations

from typing import NamedTuple


class Reason(NamedTuple):
    """A reason for the figures of a case whose name contains *part*; the first that fits counts."""

    case: str
    part: str
    text: str


_REASONS = (
    Reason(
        "jiangllm-oracle-8b-h100",
        "perfect drafts",
        "known: an upper bound of the round's cost, as the run's prefill, start and tail are in it; asynchronous "
        "scheduling was off. What share each has is not known",
    ),
    Reason(
        "jiangllm-oracle-8b-h100",
        "",
        "known: asynchronous scheduling was off, and the run's start and tail are in it; supposed: host time grows "
        "with the sequences",
    ),
    Reason(
        "qwen3-30ba3b-a100",
        "TTFT",
        "known: one A100 would have to run at its peak rate; supposed: several GPUs, or a cached prompt",
    ),
    Reason(
        "qwen3-30ba3b-a100",
        "",
        "known: three times the time of reading the active weights; supposed: launches of expert kernels, one by one",
    ),
    Reason(
        "gpustack-qwen3-32b",
        "",
        "known: a saturated server at its KV limit, without a stated batch; supposed: preemption and recomputing",
    ),
    Reason(
        "bfcl-gptoss20b-suffix",
        "c = 1",
        "supposed: host time of the suffix trees; at concurrency 8 of the same run the prediction holds",
    ),
    Reason(
        "bfcl-gptoss20b-gamma-sweep",
        "",
        "known: 48 requests at concurrency 8, so start and tail weigh much; GPU not stated",
    ),
    Reason(
        "qwen3-32b-h100nvl", "", "not established: prompt and output lengths, and clocks of the 400 W board, unknown"
    ),
    Reason(
        "specforge339-moe",
        "",
        "known: another engine (SGLang), whose speed at b = 1 is the same on two and on four GPUs, so that fixed time "
        "rules, not bytes",
    ),
    Reason(
        "qwen3-8b-0.6b-compare",
        "draft",
        "known: this version turns asynchronous scheduling off with a draft model; GPU not stated",
    ),
    Reason("qwen3-8b-0.6b-compare", "", "supposed: another board of 48 GB, with less bandwidth; GPU not stated"),
    Reason(
        "angelslim-qwen3-30b-a3b",
        "EAGLE",
        "supposed: tokens of one sequence share experts, and the model routes each token independently, so it "
        "over-states what verification costs a mixture of experts",
    ),
    Reason(
        "vllm-pr16937-8b-h100",
        "eagle",
        "known: the build that introduced these heads; the newer build's times for model and head are met within 3 %",
    ),
    Reason(
        "vllm-pr25784-suffix-h200",
        "",
        "known: model and acceptance length not stated; at 64 sequences they decide how many tokens are verified",
    ),
)

_OTHER_ENGINE = "transformers loop in Python, whose host time decides the round's cost"
_OTHER_HARDWARE = "hardware outside the catalogue"

NOT_PREDICTED: dict[str, str] = {
    "specbench-* (8 cases)": _OTHER_ENGINE,
    "qwen3-8b-0.6b-by-class": "one prompt a class, without token counts; the same pair is in qwen3-8b-0.6b-compare",
    "vllm-pr48892-mtp8": "neither model nor GPU is stated",
    "arctic-suffix": "number of GPUs not stated; a modified engine",
    "vllm-blog-2024-qps": "the V0 engine, whose scheduler is not the modelled one",
    "dsd-49548": "throughput lost to an implementation fault",
    "vllm53670-block-drop": "throughput loss of a hybrid model that is not in the catalogue",
    "mtplx186-constrained, rapidmlx2175, spark343-gamma": _OTHER_HARDWARE,
    "sglang-pr17062-ff-tokens": "tokens that the grammar forces are emitted without a pass: no step time",
    "leviathan2023-cnndm, chen2023": f"{_OTHER_HARDWARE}; figures from memory",
}


def reason_of(case: str, quantity: str) -> str:
    """Why the figure *quantity* of *case* is missed, or that no reason has been found."""
    found = (reason.text for reason in _REASONS if reason.case == case and reason.part in quantity)
    return next(found, "not established")
