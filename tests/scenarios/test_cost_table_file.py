"""Measured step times as a file: measured by a script, read by the replay."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from benchmarks.measure_gpu import Points, Setup, measure, rising, summary
from scenarios.options.parameters import ParameterBook
from scenarios.options.replay import CostOptions, PlatformOptions
from scenarios.resolve.costfile import CostTable, read_cost_table, write_cost_table
from scenarios.resolve.platform import resolve_platform
from simulator.origin import Origin
from traces.errors import TraceError

POINTS = Points(
    batch=(1, 8),
    verified_tokens=(1, 9),
    context_tokens=(0, 4096),
    prompt_tokens=(16, 8192),
    cached_tokens=(0, 4096),
)
C_T_S, TOKEN_S, CONTEXT_S = 0.018, 1e-4, 5e-8


def target_s(batch: int, tokens: int, context: int, logits: int) -> float:
    """A pass whose constants are known: the times of a made-up GPU."""
    return C_T_S + batch * tokens * TOKEN_S + batch * context * CONTEXT_S + logits * 0.0


def draft_s(batch: int, tokens: int, context: int, logits: int) -> float:
    return target_s(batch, tokens, context, logits) / 10


def table(**changes: object) -> CostTable:
    setup = Setup(gpu="H200", model="Qwen3-32B", draft_model="Qwen3-4B", source="a test", round_overhead_s=5e-4)
    return msgspec.structs.replace(measure(POINTS, target_s, draft_s, setup), **changes)


def test_a_table_goes_through_a_file_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    write_cost_table(table(), path)
    read, cost = read_cost_table(path)
    assert read == table()
    assert cost.decode_s(4, 8, 400, 2) == pytest.approx(
        C_T_S + 12 * TOKEN_S + 400 * CONTEXT_S + 5e-4 + 2 * draft_s(4, 1, 100, 1)
    )


def test_a_replay_on_a_table_says_that_it_is_measured(tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    write_cost_table(table(), path)
    book = ParameterBook()
    platform = resolve_platform(PlatformOptions(), CostOptions(table=str(path)), book)
    assert book.entries["step_time"].value == "table"
    assert book.entries["step_time"].origin is Origin.MEASURED
    assert book.entries["cost_table.batch"].value == "1 to 8"
    assert platform.baseline_cost.decode_s(1, 0, 0, 0) == pytest.approx(C_T_S + TOKEN_S)
    assert platform.cost.decode_s(1, 0, 0, 3) > platform.baseline_cost.decode_s(1, 0, 0, 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gpu": "B200"}, "gpu is 'H200', and 'B200' is replayed"),
        ({"model": "Qwen3-14B"}, "model is 'Qwen3-32B', and 'Qwen3-14B' is replayed"),
        ({"draft_model": "Qwen3-0.6B"}, "draft_model is 'Qwen3-4B'"),
        ({"tensor_parallel_size": 2}, "tensor_parallel_size is 1"),
    ],
)
def test_a_table_of_something_else_is_refused(tmp_path: Path, options: dict[str, object], message: str) -> None:
    path = tmp_path / "table.json"
    write_cost_table(table(), path)
    with pytest.raises(TraceError, match=message):
        resolve_platform(PlatformOptions(**options), CostOptions(table=str(path)), ParameterBook())  # type: ignore[arg-type]


def test_a_table_without_the_draft_serves_drafters_without_a_model(tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    write_cost_table(table(draft_pass_s=None, draft_prefill=None, draft_model=None), path)
    resolve_platform(PlatformOptions(speculative_method="ngram"), CostOptions(table=str(path)), ParameterBook())
    with pytest.raises(TraceError, match="has no draft_pass_s"):
        resolve_platform(PlatformOptions(), CostOptions(table=str(path)), ParameterBook())


def test_table_and_declared_constants_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="--cost-table replaces"):
        resolve_platform(PlatformOptions(), CostOptions(table="t.json", delta=0.1), ParameterBook())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"simtool_cost_table": 1', '"simtool_cost_table": 2'),
        ('"origin": "measured"', '"origin": "declared"'),
        ('"source"', '"sauce"'),
        ('"round_overhead_s": 0.0005', '"round_overhead_s": -1'),
        ("1.0,", "9.0,"),
    ],
)
def test_unusable_tables_name_the_file(tmp_path: Path, old: str, new: str) -> None:
    path = tmp_path / "table.json"
    write_cost_table(table(), path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(TraceError, match=r"table.json: is no cost table: .*measure_gpu"):
        read_cost_table(path)


def test_scatter_is_levelled_up() -> None:
    assert rising(np.array([[1.0, 3.0, 2.0], [0.5, 4.0, 5.0]])).tolist() == [[1, 3, 3], [1, 4, 5]]


def test_the_summary_gives_back_the_constants_put_in() -> None:
    line = summary(table(), 8).splitlines()[0]
    c_T_s = target_s(1, 1, 4096, 1)
    assert f"c_T {c_T_s * 1e3:.3f} ms, delta {TOKEN_S / c_T_s:.4f}, d 0.1000, o {5e-4 / c_T_s:.4f}" in line


def test_random_weights_are_timed_on_the_cpu(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from benchmarks.measure_gpu import torch_timer
    from simulator.hardware import ModelShape

    tiny = ModelShape(
        name="tiny", layers=2, hidden=64, heads=4, kv_heads=2, head_dim=16, intermediate=128, vocab=256,
        tied_embeddings=False, max_model_len=256,
    )  # fmt: skip
    points = Points(
        batch=(1, 2), verified_tokens=(1, 3), context_tokens=(8, 32), prompt_tokens=(4, 16), cached_tokens=(0, 16)
    )
    timer = torch_timer(tiny, points, "cpu", 2)
    setup = Setup(gpu="H200", model="tiny", draft_model="tiny", source="a test")
    path = tmp_path / "table.json"
    write_cost_table(measure(points, timer, timer, setup), path)
    _, cost = read_cost_table(path)
    assert 0 < cost.decode_s(1, 0, 8, 0) <= cost.decode_s(2, 4, 64, 2)
