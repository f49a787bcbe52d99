"""A dense transformer with random weights in torch: the work of one pass, to be timed."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import prod
from statistics import median
from typing import Any

import torch
from torch.nn import functional

from simulator.hardware import ModelShape

WARM_UP = 3


class RandomModel:
    """*shape* with random weights on *device*, and room for *kv_tokens* KV entries, all sequences together.

    Raises ValueError for mixtures of experts and latent attention, whose kernels are not the plain ones used here.
    """

    def __init__(self, shape: ModelShape, device: str, dtype: torch.dtype, kv_tokens: int) -> None:
        if shape.experts is not None or shape.latent is not None or shape.window_layers:
            raise ValueError(f"{shape.name}: only dense models with full attention can be measured")
        self.shape, self.device, self.dtype = shape, device, dtype
        query, kv = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
        h, wide = shape.hidden, shape.intermediate
        self.layers = [
            tuple(self._random(*size) for size in ((query + 2 * kv, h), (h, query), (2 * wide, h), (h, wide)))
            for _ in range(shape.layers)
        ]
        self.head = self._random(shape.vocab, h)
        self.split = (query, kv, kv)
        self.cache = torch.zeros((shape.layers, 2, kv_tokens * kv), device=device, dtype=dtype)

    def pass_of(self, batch: int, tokens: int, context: int, logits: int) -> Callable[[], Any]:
        """A pass over *tokens* of each of *batch* sequences after *context* cached ones, ready to be called.

        The last *logits* tokens of each sequence get logits.
        """
        x = self._random(batch, tokens, self.shape.hidden)
        mask = None
        if context and tokens > 1:
            mask = torch.ones(tokens, context + tokens, device=self.device, dtype=torch.bool).tril(context)

        def run() -> Any:
            out = x
            for layer in range(self.shape.layers):
                out = self._layer(out, layer, context, mask)
            return functional.linear(_norm(out[:, -logits:]), self.head).argmax(-1)

        return run

    def _random(self, *size: int) -> torch.Tensor:
        return torch.randn(size, device=self.device, dtype=self.dtype) / size[-1] ** 0.5

    def _layer(self, x: torch.Tensor, layer: int, context: int, mask: torch.Tensor | None) -> torch.Tensor:
        batch, tokens, _ = x.shape
        qkv, output, gate_up, down = self.layers[layer]
        dim = self.shape.head_dim
        parts = functional.linear(_norm(x), qkv).split(self.split, -1)
        q, k, v = (part.view(batch, tokens, -1, dim).transpose(1, 2) for part in parts)
        size = (batch, self.shape.kv_heads, context + tokens, dim)
        keys, values = (part[: prod(size)].view(size) for part in self.cache[layer])
        keys[:, :, context:] = k
        values[:, :, context:] = v
        causal = mask is None and tokens > 1
        seen = functional.scaled_dot_product_attention(
            q, keys, values, attn_mask=mask, is_causal=causal, enable_gqa=self.shape.heads != self.shape.kv_heads
        )
        x = x + functional.linear(seen.transpose(1, 2).reshape(batch, tokens, -1), output)
        gate, up = functional.linear(_norm(x), gate_up).chunk(2, -1)
        return x + functional.linear(functional.silu(gate) * up, down)


def _norm(x: torch.Tensor) -> torch.Tensor:
    return functional.rms_norm(x, (x.shape[-1],))


@torch.inference_mode()
def seconds_of(run: Callable[[], Any], device: str, repeats: int) -> float:
    """Median seconds of *run*; on a CUDA device as one captured graph."""
    if not device.startswith("cuda"):
        for _ in range(WARM_UP):
            run()
        return median(_wall(run) for _ in range(repeats))
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(WARM_UP):
            run()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    for _ in range(WARM_UP):
        graph.replay()
    return median(_on_device(graph) for _ in range(repeats))


def _wall(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _on_device(graph: torch.cuda.CUDAGraph) -> float:
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    graph.replay()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end)) / 1e3
