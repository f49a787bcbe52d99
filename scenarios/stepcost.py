"""Resolves step times from the options: the roofline, the law's constants, or a measured table."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import cast

from scenarios.costfile import CostTable, read_cost_table
from scenarios.hardwarechoice import Hardware
from scenarios.options import CostOptions
from scenarios.parameters import ParameterBook
from simulator.cost import CostModel, DeclaredCost, RooflineCost, efficiency_of, source_of
from simulator.origin import Origin
from traces.errors import TraceError

REFERENCE_CONTEXT_TOKENS = 4096
"""Context at which a derived c_T is quoted."""


def resolve_costs(
    options: CostOptions, hardware: Hardware, *, cuda_graph_padding: bool, book: ParameterBook
) -> tuple[CostModel, CostModel]:
    """Step times with the drafter and without it, each parameter recorded in *book*.

    Raises ValueError for values out of range and for options that exclude each other, TraceError for unusable tables.
    """
    if options.table is not None:
        if options.declared or cuda_graph_padding:
            raise ValueError("--cost-table replaces --c-t-ms, --delta, --d, --overhead and --cuda-graph-padding")
        return _from_table(Path(options.table), hardware, book)
    roofline = _roofline(hardware, cuda_graph_padding=cuda_graph_padding)
    plain = replace(roofline, draft=None, draft_gpu=None, draft_efficiency=None, round_trip_s=0.0)
    if options.declared:
        return _declared(options, plain, book)
    book.add("step_time", "roofline", Origin.DERIVED, "hardware and model shapes")
    book.add("cuda_graph_padding", cuda_graph_padding, Origin.DECLARED, "given" if cuda_graph_padding else "default")
    family = hardware.gpu.family
    for one in fields(roofline.efficiency):
        book.add(
            f"efficiency.{one.name}",
            getattr(roofline.efficiency, one.name),
            Origin.DECLARED,
            source_of(family, one.name),
        )
    return roofline, plain


def _roofline(hardware: Hardware, *, cuda_graph_padding: bool) -> RooflineCost:
    draft_gpu = hardware.draft_gpu
    return RooflineCost(
        gpu=hardware.gpu,
        target=hardware.target,
        draft=hardware.draft,
        efficiency=efficiency_of(hardware.gpu.family),
        tensor_parallel_size=hardware.tensor_parallel_size,
        draft_gpu=draft_gpu,
        draft_efficiency=efficiency_of(draft_gpu.family) if draft_gpu is not None else None,
        round_trip_s=hardware.round_trip_s,
        pad_to_cuda_graphs=cuda_graph_padding,
    )


def _declared(options: CostOptions, plain: RooflineCost, book: ParameterBook) -> tuple[CostModel, CostModel]:
    book.add("step_time", "declared", Origin.DECLARED, "the law's constants")
    c_T_ms = options.c_T_ms
    if c_T_ms is None:
        c_T_ms = plain.c_T_s(REFERENCE_CONTEXT_TOKENS) * 1e3
        book.add("c_T_ms", c_T_ms, Origin.DERIVED, f"roofline at one sequence of {REFERENCE_CONTEXT_TOKENS} tokens")
    else:
        book.add("c_T_ms", c_T_ms, Origin.DECLARED, "given")
    if not c_T_ms > 0:
        raise ValueError(f"--c-t-ms is {c_T_ms}; it must be above 0")
    values = {}
    for name in ("delta", "d", "overhead", "prefill_us_per_token"):
        values[name] = float(cast("float", book.choose(name, getattr(options, name), 0.0, "not given: none")))
        if values[name] < 0:
            raise ValueError(f"--{name.replace('_', '-')} is {values[name]}; it must not be negative")
    declared = DeclaredCost(
        c_T_s=c_T_ms / 1e3,
        delta=values["delta"],
        d=values["d"],
        overhead=values["overhead"],
        prefill_s_per_token=values["prefill_us_per_token"] / 1e6,
    )
    return declared, declared


def _from_table(path: Path, hardware: Hardware, book: ParameterBook) -> tuple[CostModel, CostModel]:
    table, cost = read_cost_table(path)
    _check_measured(path, table, hardware)
    source = f"{path.name}: {table.source}"
    book.add("step_time", "table", Origin.MEASURED, source)
    book.add("cost_table", path.name, Origin.MEASURED, table.source)
    for name in ("batch", "verified_tokens", "context_tokens"):
        axis = getattr(table.axes, name)
        book.add(f"cost_table.{name}", f"{min(axis):g} to {max(axis):g}", Origin.MEASURED, "points measured")
    for name in ("step_overhead_s", "round_overhead_s"):
        book.add(f"cost_table.{name}", getattr(table, name), Origin.MEASURED, source)
    plain = replace(cost, draft_pass_s=None, draft_prefill=None, _slices={})
    return cost if hardware.draft is not None else plain, plain


def _check_measured(path: Path, table: CostTable, hardware: Hardware) -> None:
    """Raise TraceError where *table* was measured on something else than what is replayed."""
    draft = hardware.draft.name if hardware.draft is not None else None
    pairs = [
        ("gpu", table.gpu, hardware.gpu.name, "--gpu"),
        ("model", table.model, hardware.target.name, "--model"),
        ("tensor_parallel_size", table.tensor_parallel_size, hardware.tensor_parallel_size, "--tensor-parallel-size"),
    ]
    if draft is not None:
        pairs.append(("draft_model", table.draft_model, draft, "--draft-model"))
        if table.draft_pass_s is None:
            raise TraceError(str(path), None, "has no draft_pass_s", "measure with the draft model")
    for name, measured, asked, option in pairs:
        if measured != asked:
            raise TraceError(str(path), None, f"{name} is {measured!r}, and {asked!r} is replayed", f"change {option}")
