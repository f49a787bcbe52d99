"""Resolves GPUs, target and drafter from the options, with their precision and where the drafter runs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from scenarios.acceptance.headtree import TreeDeclaration, read_tree
from scenarios.drafters.base import drafters
from scenarios.options.names import methods
from scenarios.options.parameters import ParameterBook
from scenarios.options.replay import PlatformOptions
from scenarios.resolve.modelfile import model_of
from simulator.config import SpeculativeMethod
from simulator.hardware import (
    DraftHead,
    Gpu,
    HeadKind,
    KvCacheDtype,
    ModelShape,
    Quantization,
    gpu_named,
    head_for,
    with_precision,
)
from simulator.origin import Origin
from traces.choice import not_one_of

E = TypeVar("E", bound=StrEnum)

SEPARATE_RTT_MS = 0.05
"""Round trip between two GPUs of one host: two transfers of token ids and a wake-up each."""
_HEADS = {
    SpeculativeMethod.EAGLE: HeadKind.EAGLE,
    SpeculativeMethod.EAGLE3: HeadKind.EAGLE3,
    SpeculativeMethod.MTP: HeadKind.MTP,
    SpeculativeMethod.MEDUSA: HeadKind.MEDUSA,
}


class DraftPlacement(StrEnum):
    """Where the drafter runs."""

    LOCAL = "local"
    """On the target's GPUs."""
    SEPARATE = "separate"
    """On one more GPU of the same host."""
    REMOTE = "remote"
    """On a GPU across a network."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """What runs where."""

    gpu: Gpu
    target: ModelShape
    draft: ModelShape | DraftHead | None
    """None: drafts cost host time only, or there are none."""
    method: SpeculativeMethod
    tensor_parallel_size: int
    draft_gpu: Gpu | None
    """None: the draft shares the target's GPUs."""
    round_trip_s: float
    tree: TreeDeclaration | None = None
    """What is drafted, where it is no chain."""

    @property
    def resident(self) -> list[ModelShape | DraftHead]:
        """What lies in the memory of the target's GPUs."""
        return [self.target] if self.draft is None or self.draft_gpu is not None else [self.target, self.draft]


def resolve_hardware(options: PlatformOptions, book: ParameterBook) -> Hardware:
    """The hardware that *options* describe, each parameter recorded in *book*.

    Raises ValueError, with the option's name, for unknown names, values out of range and combinations that no engine
    runs; TraceError for unusable configuration files.
    """
    gpu = gpu_named(options.gpu)
    tree = given_tree(options)
    method = _method(options, tree)
    kv = _one_of(KvCacheDtype, "--kv-cache-dtype", options.kv_cache_dtype)
    weights = _one_of(Quantization, "--quantization", options.quantization)
    target = with_precision(model_of(options.model, "--model"), weights, kv)
    tp = options.tensor_parallel_size
    if tp < 1:
        raise ValueError(f"--tensor-parallel-size is {tp}; it must be at least 1")
    if target.heads % tp:
        raise ValueError(f"--tensor-parallel-size {tp} does not divide the {target.heads} heads of {target.name}")
    book.add("gpu", gpu.name, Origin.DECLARED, gpu.source)
    book.add("tensor_parallel_size", tp, Origin.DECLARED, "default" if tp == 1 else "given")
    book.add("model", target.name, Origin.DECLARED, target.source)
    book.add("quantization", target.precision, Origin.DECLARED, _given(options.quantization, "as published"))
    book.add("kv_cache_dtype", "fp8" if kv is KvCacheDtype.FP8 else "bf16", Origin.DECLARED, _given(kv, "default"))
    depth = options.num_speculative_tokens if tree is None else tree.tree().depth
    draft = _drafter(options, method, (target, depth), kv, book)
    draft_gpu, round_trip_s = _placement(options, gpu, draft, book)
    return Hardware(
        gpu=gpu,
        target=target,
        draft=draft,
        method=method,
        tensor_parallel_size=tp,
        draft_gpu=draft_gpu,
        round_trip_s=round_trip_s,
        tree=tree,
    )


def given_tree(options: PlatformOptions) -> TreeDeclaration | None:
    """The draft tree that *options* name; None without one, or without speculation. Raises TraceError."""
    if options.draft_tree is None or options.num_speculative_tokens == 0:
        return None
    return read_tree(options.draft_tree)


def _method(options: PlatformOptions, tree: TreeDeclaration | None) -> SpeculativeMethod:
    name = options.speculative_method
    if name not in methods():
        raise ValueError(f"--speculative-method {not_one_of(name, methods())}")
    method = SpeculativeMethod.MODEL_FREE if name in drafters() else SpeculativeMethod(name)
    if options.num_speculative_tokens == 0 or method is SpeculativeMethod.NONE:
        return SpeculativeMethod.NONE
    if tree is None or method in _HEADS:
        return method
    if method is not SpeculativeMethod.DRAFT_MODEL:
        raise ValueError(f"--draft-tree {options.draft_tree}: {name} drafts no trees; use {', '.join(_HEADS)}")
    return SpeculativeMethod.EAGLE if tree.draft_passes else SpeculativeMethod.MEDUSA


def _one_of(kind: type[E], option: str, value: str) -> E:
    try:
        return kind(value)
    except ValueError:
        raise ValueError(f"{option} {not_one_of(value, (member.value for member in kind))}") from None


def _given(value: str, default: str) -> str:
    return default if value == "auto" else "given"


def _drafter(
    options: PlatformOptions,
    method: SpeculativeMethod,
    drafted: tuple[ModelShape, int],
    kv: KvCacheDtype,
    book: ParameterBook,
) -> ModelShape | DraftHead | None:
    """What drafts for the target of *drafted*, to the depth beside it."""
    target, depth = drafted
    if method in _HEADS:
        head = head_for(_HEADS[method], target, depth)
        book.add("draft_model", head.name, Origin.DERIVED, "shape of the method's published heads for this target")
        return head
    if method is not SpeculativeMethod.DRAFT_MODEL:
        book.add("draft_model", None, Origin.DECLARED, "no drafter on the GPU")
        return None
    weights = _one_of(Quantization, "--draft-quantization", options.draft_quantization)
    draft = with_precision(model_of(options.draft_model, "--draft-model"), weights, kv)
    if draft.vocab != target.vocab:
        raise ValueError(
            f"--draft-model {draft.name} has {draft.vocab} tokens and --model {target.name} {target.vocab}: "
            "give a draft model with the target's vocabulary, or another --speculative-method"
        )
    book.add("draft_model", draft.name, Origin.DECLARED, draft.source)
    book.add("draft_quantization", draft.precision, Origin.DECLARED, _given(options.draft_quantization, "as published"))
    return draft


def _placement(
    options: PlatformOptions, gpu: Gpu, draft: ModelShape | DraftHead | None, book: ParameterBook
) -> tuple[Gpu | None, float]:
    """The drafter's own GPU, and the seconds between it and the target."""
    placement = _one_of(DraftPlacement, "--draft-placement", options.draft_placement)
    rtt_ms = options.rtt_ms
    if placement is DraftPlacement.LOCAL:
        if rtt_ms is not None or options.draft_gpu is not None:
            raise ValueError("--rtt-ms and --draft-gpu need --draft-placement separate or remote")
        return None, 0.0
    if not isinstance(draft, ModelShape):
        raise ValueError(f"--draft-placement {placement} needs --speculative-method draft_model and --gamma above 0")
    if rtt_ms is None:
        if placement is DraftPlacement.REMOTE:
            raise ValueError("--draft-placement remote needs --rtt-ms: the round trip between draft and target")
        rtt_ms = SEPARATE_RTT_MS
    if not 0 <= rtt_ms < float("inf"):
        raise ValueError(f"--rtt-ms is {rtt_ms}; it must be 0 or more")
    own = gpu_named(options.draft_gpu) if options.draft_gpu is not None else gpu
    book.add("draft_placement", placement.value, Origin.DECLARED, "given")
    book.add("draft_gpu", own.name, Origin.DECLARED, "given" if options.draft_gpu else "as --gpu")
    book.add("rtt_ms", rtt_ms, Origin.DECLARED, "given" if options.rtt_ms is not None else "two GPUs of one host")
    return own, rtt_ms / 1e3
