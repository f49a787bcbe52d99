"""Measures passes of a target and a draft on this machine's GPU and writes a table for ``--cost-table``.

``python -m benchmarks.measure_gpu --gpu H200 --output table.json`` needs torch and no download: weights are random.
Passes are timed without a serving engine; give its host time with --step-overhead-ms and --round-overhead-ms.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from scenarios.resolve.costfile import CostAxes, CostTable, PrefillTimes, table_cost, write_cost_table
from scenarios.resolve.modelfile import model_of
from simulator.hardware import ModelShape, gpu_named
from simulator.lawcosts import read_back

F64 = npt.NDArray[np.float64]
PassTimer = Callable[[int, int, int, int], float]
"""Seconds of a pass: sequences, tokens of each, context of each, tokens of each that get logits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """What is measured, each list rising."""

    batch: Sequence[int]
    verified_tokens: Sequence[int]
    context_tokens: Sequence[int]
    prompt_tokens: Sequence[int]
    cached_tokens: Sequence[int]

    @property
    def kv_tokens(self) -> int:
        """KV entries of the largest point, all its sequences together."""
        decoding = max(self.batch) * (max(self.context_tokens) + max(self.verified_tokens))
        return max(decoding, max(self.cached_tokens) + max(self.prompt_tokens))


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What was measured, and how."""

    gpu: str
    model: str
    draft_model: str | None
    source: str
    step_overhead_s: float = 0.0
    round_overhead_s: float = 0.0


def measure(points: Points, target: PassTimer, draft: PassTimer | None, setup: Setup) -> CostTable:
    """The table of all *points*. A time below that of a smaller pass is scatter and takes the larger value."""
    passes = [
        [
            [target(batch, tokens, context, tokens) for context in points.context_tokens]
            for tokens in points.verified_tokens
        ]
        for batch in points.batch
    ]
    drafts = None
    if draft is not None:
        times = [[draft(batch, 1, context, 1) for context in points.context_tokens] for batch in points.batch]
        drafts = rising(np.array(times)).tolist()
    return CostTable(
        simtool_cost_table=1,
        origin="measured",
        source=setup.source,
        gpu=setup.gpu,
        model=setup.model,
        draft_model=setup.draft_model,
        axes=CostAxes(
            batch=list(map(float, points.batch)),
            verified_tokens=list(map(float, points.verified_tokens)),
            context_tokens=list(map(float, points.context_tokens)),
        ),
        target_pass_s=rising(np.array(passes)).tolist(),
        prefill=_prefill(points, target),
        draft_pass_s=drafts,
        draft_prefill=_prefill(points, draft) if draft is not None else None,
        step_overhead_s=setup.step_overhead_s,
        round_overhead_s=setup.round_overhead_s,
    )


def _prefill(points: Points, timer: PassTimer) -> PrefillTimes:
    times = [[timer(1, tokens, cached, 1) for cached in points.cached_tokens] for tokens in points.prompt_tokens]
    return PrefillTimes(
        prompt_tokens=list(map(float, points.prompt_tokens)),
        cached_tokens=list(map(float, points.cached_tokens)),
        seconds=rising(np.array(times)).tolist(),
    )


def rising(times: F64) -> F64:
    """*times* with no value below its neighbour of less work."""
    for axis in range(times.ndim):
        times = np.maximum.accumulate(times, axis=axis)
    return times


def summary(table: CostTable, gamma: int) -> str:
    """The law's constants at the measured batch sizes, and prompt tokens per second."""
    cost = table_cost(table)
    context = table.axes.context_tokens[-1]
    lines = []
    for batch in table.axes.batch:
        law = read_back(cost, n_seqs=batch, context_tokens=context, gamma=gamma)
        lines.append(
            f"b {batch:g}, {context:g} tokens: c_T {law.c_T_s * 1e3:.3f} ms, delta {law.delta:.4f}, "
            f"d {law.d:.4f}, o {law.o:.4f}"
        )
    tokens = table.prefill.prompt_tokens[-1]
    lines.append(f"prefill: {tokens / table.prefill.seconds[-1][0]:.0f} tokens/s over {tokens:g} tokens")
    return "\n".join(lines)


def torch_timer(shape: ModelShape, points: Points, device: str, repeats: int) -> PassTimer:
    """A timer of *shape* with random weights on *device*. Raises ImportError without torch."""
    import torch

    from benchmarks.torch_passes import RandomModel, seconds_of

    dtype = torch.bfloat16 if device.startswith("cuda") else torch.float32
    model = RandomModel(shape, device, dtype, points.kv_tokens)

    def timer(batch: int, tokens: int, context: int, logits: int) -> float:
        return float(seconds_of(model.pass_of(batch, tokens, context, logits), device, repeats))

    return timer


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.measure_gpu", description=__doc__)
    parser.add_argument("--gpu", default="H200", help="name of this GPU in the catalogue")
    parser.add_argument("--model", default="Qwen3-32B", help="name or config.json")
    parser.add_argument("--draft-model", default="Qwen3-4B", help="name or config.json; empty for none")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--gamma", type=int, default=8, help="depth at which the constants are printed")
    parser.add_argument("--batch", type=_numbers, default=[1, 2, 4, 8, 16, 32])
    parser.add_argument("--verified-tokens", type=_numbers, default=[1, 2, 5, 9, 17])
    parser.add_argument("--context-tokens", type=_numbers, default=[128, 1024, 2048])
    parser.add_argument("--prompt-tokens", type=_numbers, default=[16, 128, 512, 2048, 8192])
    parser.add_argument("--cached-tokens", type=_numbers, default=[0, 4096])
    parser.add_argument("--step-overhead-ms", type=float, default=0.0)
    parser.add_argument("--round-overhead-ms", type=float, default=0.0)
    parser.add_argument("--source", required=True, help="who measured, with which software, when")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    points = Points(
        batch=options.batch,
        verified_tokens=options.verified_tokens,
        context_tokens=options.context_tokens,
        prompt_tokens=options.prompt_tokens,
        cached_tokens=options.cached_tokens,
    )
    target = model_of(options.model, "--model")
    draft = model_of(options.draft_model, "--draft-model") if options.draft_model else None
    timers = [torch_timer(shape, points, options.device, options.repeats) for shape in (target, draft) if shape]
    setup = Setup(
        gpu=gpu_named(options.gpu).name,
        model=target.name,
        draft_model=draft.name if draft else None,
        source=options.source,
        step_overhead_s=options.step_overhead_ms / 1e3,
        round_overhead_s=options.round_overhead_ms / 1e3,
    )
    table = measure(points, timers[0], timers[1] if draft else None, setup)
    write_cost_table(table, options.output)
    print(summary(table, options.gamma))


if __name__ == "__main__":
    main()
