"""Draft heads that ride on the target's hidden states: EAGLE, EAGLE-3, MTP and Medusa, as costs of a pass."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from simulator.hardware.shape import ModelShape

EAGLE3_VOCAB = 32_000
"""Tokens that published EAGLE-3 heads can draft."""


class HeadKind(StrEnum):
    """Heads by the method that trains them."""

    EAGLE = "eagle"
    EAGLE3 = "eagle3"
    MTP = "mtp"
    MEDUSA = "medusa"


@dataclass(frozen=True, kw_only=True)
class DraftHead:
    """What a draft head adds to its target, with the same figures as a ModelShape.

    *weight_bytes* counts its own weights; *read_bytes* also what it reads of the target's, the output table first of
    all. *parallel* heads draft all tokens at once, each from weights of its own; others take a pass a token.
    """

    name: str
    layers: int
    weight_bytes: float
    read_bytes: float
    kv_bytes_per_token: float
    flops_per_token_no_head: float
    head_flops: float
    attention_flops_per_pair: float
    fp8_math: bool = False
    parallel: bool = False

    @property
    def flops_per_token(self) -> float:
        """FLOPs of one drafted token."""
        return self.flops_per_token_no_head + self.head_flops


def head_for(kind: HeadKind, target: ModelShape, depth: int) -> DraftHead:
    """The head of *kind* for *target*, drafting *depth* tokens.

    EAGLE: one dense decoder layer, a 2h x h fusion, the target's output table. EAGLE-3: queries, keys and values read
    2h, the fusion is 3h x h, and the output table has 32,000 rows of its own. MTP: one layer of the target's kind, a
    2h x h fusion, the target's output table. Medusa: *depth* heads of an h x h block and an output table of their own.
    """
    if kind is HeadKind.MEDUSA:
        return _medusa(target, depth)
    h = target.hidden
    mlp = 3 * h * target.intermediate
    attention = target.attention_params
    active = own = attention + mlp + 2 * h + 2 * h * h
    table, own_table = target.table_params, 0
    if kind is HeadKind.EAGLE3:
        query, kv = target.heads * target.head_dim, target.kv_heads * target.head_dim
        active = own = 2 * h * (query + 2 * kv) + query * h + mlp + 4 * h + 3 * h * h
        table = own_table = EAGLE3_VOCAB * h
    elif kind is HeadKind.MTP and target.experts is not None:
        experts = target.experts
        common = attention + 2 * h + 2 * h * h + h * experts.count + 3 * h * experts.shared_intermediate
        active = common + experts.active * target.expert_params
        own = common + experts.count * target.expert_params
    per_weight = target.bytes_per_weight if kind is HeadKind.MTP else 2.0
    return DraftHead(
        name=f"{kind.value} head of {target.name}",
        layers=1,
        weight_bytes=own * per_weight + own_table * target.table_bytes_per_weight,
        read_bytes=active * per_weight + table * target.table_bytes_per_weight,
        kv_bytes_per_token=target.kv_bytes_per_token / target.layers,
        flops_per_token_no_head=2.0 * active,
        head_flops=2.0 * table,
        attention_flops_per_pair=(target.attention_flops_per_pair + target.window_flops_per_pair) / target.layers,
        fp8_math=kind is HeadKind.MTP and target.fp8_math,
    )


def _medusa(target: ModelShape, depth: int) -> DraftHead:
    block = target.hidden * target.hidden + target.hidden
    one = 2.0 * (block + target.table_params)
    return DraftHead(
        name=f"medusa heads of {target.name}",
        layers=1,
        weight_bytes=depth * one,
        read_bytes=one,
        kv_bytes_per_token=0.0,
        flops_per_token_no_head=2.0 * block,
        head_flops=2.0 * target.table_params,
        attention_flops_per_pair=0.0,
        parallel=True,
    )
