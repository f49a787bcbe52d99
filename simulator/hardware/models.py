"""Models by name, with the shapes that their published configurations give."""

from __future__ import annotations

from functools import partial

from simulator.hardware.precision import MXFP4_BYTES
from simulator.hardware.shape import Experts, Latent, ModelShape

_CHECKED = "published config; parameter count equals the published one"

_qwen3 = partial(
    ModelShape, kv_heads=8, head_dim=128, vocab=151936, qk_norm=True, tied_embeddings=False, source=_CHECKED
)
_qwen25 = partial(
    ModelShape, head_dim=128, vocab=152064, qkv_bias=True, tied_embeddings=False, max_model_len=131072, source=_CHECKED
)
_llama3 = partial(ModelShape, kv_heads=8, vocab=128256, max_model_len=131072, source=_CHECKED)
_mistral = partial(ModelShape, kv_heads=8, head_dim=128, tied_embeddings=False, source=_CHECKED)
_gpt_oss = partial(
    ModelShape, hidden=2880, heads=64, kv_heads=8, head_dim=64, intermediate=2880, vocab=201088,
    tied_embeddings=False, max_model_len=131072, qkv_bias=True, output_bias=True, attention_sinks=True,
    window_tokens=128, expert_bytes_per_weight=MXFP4_BYTES, precision="mxfp4", source=_CHECKED,
)  # fmt: skip


def _gpt_oss_experts(count: int) -> Experts:
    return Experts(count=count, active=4, intermediate=2880, router_bias=True, expert_bias=True)


MODELS: dict[str, ModelShape] = {
    model.name: model
    for model in (
        _qwen3(name="Qwen3-32B", layers=64, hidden=5120, heads=64, intermediate=25600, max_model_len=131072),
        _qwen3(name="Qwen3-14B", layers=40, hidden=5120, heads=40, intermediate=17408, max_model_len=131072),
        _qwen3(name="Qwen3-8B", layers=36, hidden=4096, heads=32, intermediate=12288, max_model_len=131072),
        _qwen3(
            name="Qwen3-4B", layers=36, hidden=2560, heads=32, intermediate=9728, tied_embeddings=True,
            max_model_len=131072,
        ),
        _qwen3(
            name="Qwen3-1.7B", layers=28, hidden=2048, heads=16, intermediate=6144, tied_embeddings=True,
            max_model_len=40960,
        ),
        _qwen3(
            name="Qwen3-0.6B", layers=28, hidden=1024, heads=16, intermediate=3072, tied_embeddings=True,
            max_model_len=40960,
        ),
        _qwen3(
            name="Qwen3-30B-A3B", layers=48, hidden=2048, heads=32, kv_heads=4, intermediate=6144,
            max_model_len=131072, experts=Experts(count=128, active=8, intermediate=768),
        ),
        _qwen3(
            name="Qwen3-235B-A22B", layers=94, hidden=4096, heads=64, kv_heads=4, intermediate=12288,
            max_model_len=131072, experts=Experts(count=128, active=8, intermediate=1536),
        ),
        _qwen25(name="Qwen2.5-7B", layers=28, hidden=3584, heads=28, kv_heads=4, intermediate=18944),
        _qwen25(name="Qwen2.5-32B", layers=64, hidden=5120, heads=40, kv_heads=8, intermediate=27648),
        _qwen25(name="Qwen2.5-72B", layers=80, hidden=8192, heads=64, kv_heads=8, intermediate=29568),
        _llama3(
            name="Llama-3.2-1B", layers=16, hidden=2048, heads=32, head_dim=64, intermediate=8192,
            tied_embeddings=True,
        ),
        _llama3(
            name="Llama-3.2-3B", layers=28, hidden=3072, heads=24, head_dim=128, intermediate=8192,
            tied_embeddings=True,
        ),
        _llama3(
            name="Llama-3.1-8B", layers=32, hidden=4096, heads=32, head_dim=128, intermediate=14336,
            tied_embeddings=False,
        ),
        _llama3(
            name="Llama-3.1-70B", layers=80, hidden=8192, heads=64, head_dim=128, intermediate=28672,
            tied_embeddings=False,
        ),
        _llama3(
            name="Llama-3.3-70B", layers=80, hidden=8192, heads=64, head_dim=128, intermediate=28672,
            tied_embeddings=False,
        ),
        _gpt_oss(name="gpt-oss-20b", layers=24, window_layers=12, experts=_gpt_oss_experts(32)),
        _gpt_oss(name="gpt-oss-120b", layers=36, window_layers=18, experts=_gpt_oss_experts(128)),
        ModelShape(
            name="DeepSeek-V3", layers=61, hidden=7168, heads=128, kv_heads=128, head_dim=192, intermediate=18432,
            vocab=129280, tied_embeddings=False, max_model_len=163840,
            latent=Latent(q_rank=1536, kv_rank=512, rope_dim=64, nope_dim=128, value_dim=128),
            experts=Experts(
                count=256, active=8, intermediate=2048, shared_intermediate=2048, dense_layers=3, router_bias=True
            ),
            bytes_per_weight=1.0, fp8_math=True, precision="fp8",
            source="published config; 671 B without its MTP layer",
        ),
        _mistral(
            name="Mistral-7B-v0.3", layers=32, hidden=4096, heads=32, intermediate=14336, vocab=32768,
            max_model_len=32768,
        ),
        _mistral(
            name="Mistral-Small-24B", layers=40, hidden=5120, heads=32, intermediate=32768, vocab=131072,
            max_model_len=32768,
        ),
        _mistral(
            name="Mistral-Large-123B", layers=88, hidden=12288, heads=96, intermediate=28672, vocab=32768,
            max_model_len=131072,
        ),
    )
}  # fmt: skip
