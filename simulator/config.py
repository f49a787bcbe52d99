"""The engine's settings, with vLLM's names, defaults and cross-checks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from simulator.policies import GammaByBatchSize

MODELLED_ENGINE = "vLLM V1 scheduler (0.33 line)"
"""The engine whose behaviour is modelled; stands in every result."""


class SpeculativeMethod(StrEnum):
    """How draft tokens are made, as far as the engine can tell; decides lookahead slots and draft memory."""

    NONE = "none"
    DRAFT_MODEL = "draft_model"
    MODEL_FREE = "model_free"
    """Any drafter without a model: it takes neither memory nor GPU time."""
    EAGLE = "eagle"
    EAGLE3 = "eagle3"
    MTP = "mtp"
    MEDUSA = "medusa"

    @property
    def has_draft_kv(self) -> bool:
        """Whether draft tokens are written to KV slots ahead of their verification."""
        return self is SpeculativeMethod.DRAFT_MODEL or self.drops_last_hit

    @property
    def drops_last_hit(self) -> bool:
        """Whether the last matched prefix block is recomputed, since the drafter needs its hidden states."""
        return self in (SpeculativeMethod.EAGLE, SpeculativeMethod.EAGLE3, SpeculativeMethod.MTP)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineConfig:
    """Settings of one replica. Raises ValueError, naming both values, where two do not fit together."""

    max_num_seqs: int = 1024
    max_num_batched_tokens: int = 8192
    max_model_len: int = 40960
    block_size: int = 16
    num_gpu_blocks: int = 8192
    enable_prefix_caching: bool = True
    enable_chunked_prefill: bool = True
    long_prefill_token_threshold: int = 0
    num_speculative_tokens: int = 0
    speculative_method: SpeculativeMethod = SpeculativeMethod.NONE
    num_speculative_tokens_per_batch_size: GammaByBatchSize | None = None
    """Draft depth by running requests, at most num_speculative_tokens; None: always that."""
    draft_depth_varies: bool = False
    """Whether some rounds draft less by choice of the drafter: a step then takes the draft passes of its deepest."""

    def __post_init__(self) -> None:
        rows = self.num_speculative_tokens_per_batch_size
        if rows is not None and max((gamma for *_, gamma in rows.rows), default=0) > self.num_speculative_tokens:
            raise ValueError(
                f"--gamma-by-batch-size drafts {max(gamma for *_, gamma in rows.rows)} tokens; it must be at most "
                f"--gamma ({self.num_speculative_tokens})"
            )
        for name in ("max_num_seqs", "max_num_batched_tokens", "max_model_len", "block_size", "num_gpu_blocks"):
            if getattr(self, name) < 1:
                raise ValueError(f"--{name.replace('_', '-')} is {getattr(self, name)}; it must be at least 1")
        if self.num_speculative_tokens < 0:
            raise ValueError(f"--num-speculative-tokens is {self.num_speculative_tokens}; it must be at least 0")
        if self.long_prefill_token_threshold < 0:
            raise ValueError(f"--long-prefill-token-threshold is {self.long_prefill_token_threshold}; it must be >= 0")
        if self.max_num_batched_tokens < self.max_num_seqs:
            raise ValueError(
                f"--max-num-batched-tokens ({self.max_num_batched_tokens}) must be at least "
                f"--max-num-seqs ({self.max_num_seqs})"
            )
        if not self.enable_chunked_prefill and self.max_num_batched_tokens < self.max_model_len:
            raise ValueError(
                f"without chunked prefill, --max-num-batched-tokens ({self.max_num_batched_tokens}) must be at "
                f"least --max-model-len ({self.max_model_len})"
            )
        if self.num_speculative_tokens >= self.max_num_batched_tokens:
            raise ValueError(
                f"--num-speculative-tokens ({self.num_speculative_tokens}) must be below "
                f"--max-num-batched-tokens ({self.max_num_batched_tokens})"
            )
        if self.kv_capacity_tokens < self.max_model_len:
            raise ValueError(
                f"one sequence of --max-model-len ({self.max_model_len}) does not fit in the KV cache of "
                f"{self.kv_capacity_tokens} tokens: lower --max-model-len or raise --gpu-memory-utilization"
            )

    @property
    def has_draft_depths(self) -> bool:
        """Whether draft depths differ between rounds."""
        return self.draft_depth_varies or self.num_speculative_tokens_per_batch_size is not None

    @property
    def kv_capacity_tokens(self) -> int:
        """Tokens that the block pool holds."""
        return self.num_gpu_blocks * self.block_size

    @property
    def num_lookahead_tokens(self) -> int:
        """KV slots kept ahead of a decoding sequence for the draft's own tokens."""
        return self.num_speculative_tokens if self.speculative_method.has_draft_kv else 0
