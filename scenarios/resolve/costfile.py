"""Measured step times as a file: schema, reading, writing."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from simulator.cost import TableCost
from simulator.cost.table import PrefillTable
from traces.errors import TraceError

_MEND = "write the table with benchmarks/measure_gpu.py"


class CostAxes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Points at which passes were measured, each list rising."""

    batch: list[float]
    """Sequences in the pass."""
    verified_tokens: list[float]
    """Tokens a sequence computes in it: 1 + drafts."""
    context_tokens: list[float]
    """KV entries that each sequence reads."""


class PrefillTimes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Passes over prompt tokens alone: seconds[i][j] for prompt_tokens[i] after cached_tokens[j]."""

    prompt_tokens: list[float]
    cached_tokens: list[float]
    seconds: list[list[float]]


class CostTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A profile of one engine: seconds of its passes, and what was measured."""

    simtool_cost_table: Literal[1]
    """Version of this schema."""
    origin: Literal["measured"]
    source: str
    """Who measured what with which software, and when."""
    gpu: str
    model: str
    draft_model: str | None = None
    tensor_parallel_size: int = 1
    axes: CostAxes
    target_pass_s: list[list[list[float]]]
    """By batch, verified tokens, context."""
    prefill: PrefillTimes
    draft_pass_s: list[list[float]] | None = None
    """By batch, context."""
    draft_prefill: PrefillTimes | None = None
    step_overhead_s: float = 0.0
    """Host time of a step beside its passes; 0 if the passes were timed inside a serving engine."""
    round_overhead_s: float = 0.0
    """What a step with drafts takes on top."""


def read_cost_table(path: Path) -> tuple[CostTable, TableCost]:
    """The table at *path*, as read and as a cost model. Raises TraceError for a file that is no usable table."""
    try:
        table = msgspec.json.decode(path.read_bytes(), type=CostTable)
        return table, table_cost(table)
    except OSError as error:
        raise TraceError(str(path), None, f"cannot be read: {error.strerror}", _MEND) from error
    except (msgspec.DecodeError, ValueError) as error:
        raise TraceError(str(path), None, f"is no cost table: {error}", _MEND) from error


def table_cost(table: CostTable) -> TableCost:
    """The cost model of *table*. Raises ValueError as TableCost does, and for nested lists of unequal length."""
    for name in ("step_overhead_s", "round_overhead_s"):
        if not 0 <= getattr(table, name) < float("inf"):
            raise ValueError(f"{name} is {getattr(table, name)}; it must be 0 or more")
    return TableCost(
        batch=tuple(table.axes.batch),
        verified_tokens=tuple(table.axes.verified_tokens),
        context_tokens=tuple(table.axes.context_tokens),
        target_pass_s=np.array(table.target_pass_s),
        prefill=_prefill(table.prefill),
        draft_pass_s=None if table.draft_pass_s is None else np.array(table.draft_pass_s),
        draft_prefill=None if table.draft_prefill is None else _prefill(table.draft_prefill),
        step_overhead_s=table.step_overhead_s,
        round_overhead_s=table.round_overhead_s,
    )


def _prefill(times: PrefillTimes) -> PrefillTable:
    return PrefillTable(tuple(times.prompt_tokens), tuple(times.cached_tokens), np.array(times.seconds))


def write_cost_table(table: CostTable, path: Path) -> None:
    """Write *table* as JSON, its numbers in full."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(table), indent=1) + b"\n")
