"""The shape of a transformer: parameters, bytes and FLOPs that step times and memory follow from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True, slots=True, kw_only=True)
class Experts:
    """A mixture of experts in the place of the MLP."""

    count: int
    active: int
    """Experts that one token is routed to."""
    intermediate: int
    """Width of one expert."""
    shared_intermediate: int = 0
    """Width of all shared experts together: every token passes them."""
    dense_layers: int = 0
    """Leading layers that have an ordinary MLP instead."""
    router_bias: bool = False
    expert_bias: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Latent:
    """Multi-head latent attention: queries and KV go through low ranks, and the cache holds the KV rank only."""

    q_rank: int
    """0: queries are projected at once."""
    kv_rank: int
    rope_dim: int
    nope_dim: int
    value_dim: int


@dataclass(frozen=True, kw_only=True)
class ModelShape:
    """A decoder-only transformer with gated MLPs, dense or of experts.

    Weights of the blocks take *bytes_per_weight* each, routed experts *expert_bytes_per_weight* (None: the same),
    embedding and output tables *table_bytes_per_weight*. *window_layers* of the layers attend to the last
    *window_tokens* only. *fp8_math*: products run at the FP8 rate.
    """

    name: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocab: int
    tied_embeddings: bool
    max_model_len: int
    qkv_bias: bool = False
    output_bias: bool = False
    qk_norm: bool = False
    attention_sinks: bool = False
    window_tokens: int = 0
    window_layers: int = 0
    experts: Experts | None = None
    latent: Latent | None = None
    bytes_per_weight: float = 2.0
    expert_bytes_per_weight: float | None = None
    table_bytes_per_weight: float = 2.0
    bytes_per_kv: float = 2.0
    fp8_math: bool = False
    precision: str = "bf16"
    """Name of the weights' precision, for display."""
    source: str = ""

    @cached_property
    def attention_params(self) -> int:
        """Parameters of attention and its norms in one layer."""
        if self.latent is not None:
            return self._latent_params(self.latent)
        query, kv = self.heads * self.head_dim, self.kv_heads * self.head_dim
        weights = 2 * self.hidden * (query + kv)
        biases = (query + 2 * kv) * self.qkv_bias + self.hidden * self.output_bias
        return weights + biases + 2 * self.head_dim * self.qk_norm + self.heads * self.attention_sinks

    def _latent_params(self, latent: Latent) -> int:
        query = self.heads * (latent.nope_dim + latent.rope_dim)
        if latent.q_rank:
            queries = self.hidden * latent.q_rank + latent.q_rank + latent.q_rank * query
        else:
            queries = self.hidden * query
        down = self.hidden * (latent.kv_rank + latent.rope_dim) + latent.kv_rank
        up = latent.kv_rank * self.heads * (latent.nope_dim + latent.value_dim)
        return queries + down + up + self.heads * latent.value_dim * self.hidden

    @property
    def expert_layers(self) -> int:
        """Layers with experts."""
        return self.layers - self.experts.dense_layers if self.experts is not None else 0

    @cached_property
    def expert_params(self) -> int:
        """Parameters of one routed expert in one layer; 0 in a dense model."""
        if self.experts is None:
            return 0
        width = self.experts.intermediate
        return 3 * self.hidden * width + (2 * width + self.hidden) * self.experts.expert_bias

    @cached_property
    def common_params(self) -> int:
        """Parameters of the blocks that every token passes: routed experts and embeddings left out."""
        total = self.layers * (self.attention_params + 2 * self.hidden) + self.hidden
        total += (self.layers - self.expert_layers) * 3 * self.hidden * self.intermediate
        if self.experts is not None:
            router = self.hidden * self.experts.count + self.experts.count * self.experts.router_bias
            total += self.expert_layers * (router + 3 * self.hidden * self.experts.shared_intermediate)
        return total

    @cached_property
    def routed_params(self) -> int:
        """Parameters of all routed experts."""
        return self.expert_layers * self.expert_params * (self.experts.count if self.experts is not None else 0)

    @cached_property
    def block_params(self) -> int:
        """Parameters of all transformer blocks and the norms, embeddings left out."""
        return self.common_params + self.routed_params

    @cached_property
    def table_params(self) -> int:
        """Parameters of one vocabulary table."""
        return self.vocab * self.hidden

    @cached_property
    def params(self) -> int:
        """All parameters."""
        return self.block_params + self.table_params * (1 if self.tied_embeddings else 2)

    @cached_property
    def active_params(self) -> int:
        """Parameters that one token uses, both tables included."""
        return self.params - self.routed_params + self.active_routed_params

    @cached_property
    def active_routed_params(self) -> int:
        """Parameters of the routed experts that one token uses."""
        return self.expert_layers * self.expert_params * (self.experts.active if self.experts is not None else 0)

    @property
    def _expert_bytes_per_weight(self) -> float:
        return self.bytes_per_weight if self.expert_bytes_per_weight is None else self.expert_bytes_per_weight

    @cached_property
    def weight_bytes(self) -> float:
        """Bytes that the weights take in memory."""
        tables = self.table_params * (1 if self.tied_embeddings else 2) * self.table_bytes_per_weight
        routed = self.routed_params * self._expert_bytes_per_weight
        return self.common_params * self.bytes_per_weight + routed + tables

    @cached_property
    def common_read_bytes(self) -> float:
        """Bytes of weights that any pass reads: all but the input embedding table and the routed experts."""
        return self.common_params * self.bytes_per_weight + self.table_params * self.table_bytes_per_weight

    @cached_property
    def expert_read_bytes(self) -> float:
        """Bytes of one routed expert in all layers."""
        return self.expert_layers * self.expert_params * self._expert_bytes_per_weight

    @cached_property
    def read_bytes(self) -> float:
        """Bytes of weights that a pass over one token reads."""
        active = self.experts.active if self.experts is not None else 0
        return self.common_read_bytes + active * self.expert_read_bytes

    @cached_property
    def expert_miss(self) -> float:
        """Probability that one token leaves a given expert out; 1 in a dense model."""
        return 1.0 - self.experts.active / self.experts.count if self.experts is not None else 1.0

    @cached_property
    def all_experts_bytes(self) -> float:
        """Bytes of all routed experts."""
        return self.expert_read_bytes * (self.experts.count if self.experts is not None else 0)

    @cached_property
    def kv_bytes_per_token(self) -> float:
        """Bytes of KV cache a token takes, windowed layers counted in full."""
        return self.layers * self._kv_bytes_per_layer

    @cached_property
    def full_kv_bytes_per_token(self) -> float:
        """Bytes of KV per token in the layers that attend to the whole context."""
        return (self.layers - self.window_layers) * self._kv_bytes_per_layer

    @cached_property
    def window_kv_bytes_per_token(self) -> float:
        """Bytes of KV per token in the windowed layers."""
        return self.window_layers * self._kv_bytes_per_layer

    @property
    def _kv_bytes_per_layer(self) -> float:
        if self.latent is not None:
            return (self.latent.kv_rank + self.latent.rope_dim) * self.bytes_per_kv
        return 2 * self.kv_heads * self.head_dim * self.bytes_per_kv

    @cached_property
    def head_flops(self) -> float:
        """FLOPs of the logits of one token."""
        return 2.0 * self.vocab * self.hidden

    @cached_property
    def flops_per_token_no_head(self) -> float:
        """FLOPs of one token through the blocks, attention scores left out."""
        return 2.0 * (self.common_params + self.active_routed_params)

    @cached_property
    def flops_per_token(self) -> float:
        """FLOPs of one decoded token, attention scores left out (decode attention is bound by reading the KV)."""
        return self.flops_per_token_no_head + self.head_flops

    @cached_property
    def attention_flops_per_pair(self) -> float:
        """FLOPs of one (query, key) pair in all layers that attend to the whole context: scores and weighted values."""
        return (self.layers - self.window_layers) * self._pair_flops

    @cached_property
    def window_flops_per_pair(self) -> float:
        """The same in the windowed layers."""
        return self.window_layers * self._pair_flops

    @property
    def _pair_flops(self) -> float:
        if self.latent is not None:
            return 2.0 * self.heads * (self.latent.nope_dim + self.latent.rope_dim + self.latent.value_dim)
        return 4.0 * self.heads * self.head_dim
