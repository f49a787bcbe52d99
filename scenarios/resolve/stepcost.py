"""Resolves step times from the options: the roofline, the law's constants, or a measured table."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import cast

from scenarios.acceptance.headtree import TreeDeclaration
from scenarios.options.parameters import ParameterBook
from scenarios.options.replay import CostOptions
from scenarios.resolve.costfile import CostTable, read_cost_table
from scenarios.resolve.hardwarechoice import Hardware
from simulator.config import SpeculativeMethod
from simulator.cost import CostModel, DeclaredCost, RooflineCost, TreeCost, efficiency_of, source_of
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
    speculative, plain = _of_chains(options, hardware, cuda_graph_padding=cuda_graph_padding, book=book)
    if hardware.tree is None or hardware.method is SpeculativeMethod.NONE:
        return speculative, plain
    return _of_tree(speculative, hardware.tree, book), plain


def _of_tree(chains: CostModel, declared: TreeDeclaration, book: ParameterBook) -> CostModel:
    """*chains* for a tree: its own costs beside the law's constants, a pass a level where passes are derived."""
    tree = declared.tree()
    by_law = isinstance(chains, DeclaredCost)
    passes = declared.draft_passes if by_law else float(tree.depth)
    head_cost = declared.head_cost if by_law else 0.0
    book.add("draft_tree", declared.name, Origin.DECLARED, declared.source or "given")
    book.add("draft_tree.nodes", tree.width, Origin.DECLARED, "verified beside the target's own token")
    book.add("draft_tree.depth", tree.depth, Origin.DECLARED, "most tokens that a round accepts")
    source = "the declaration" if by_law else "one a level, its candidates side by side at the cost of one"
    book.add("draft_tree.draft_passes", passes, Origin.DECLARED if by_law else Origin.DERIVED, source)
    book.add("draft_tree.head_cost", head_cost, Origin.DECLARED, "the declaration" if by_law else "part of the passes")
    return TreeCost(base=chains, nodes=tree.width, draft_passes=passes, head_cost=head_cost)


def _of_chains(
    options: CostOptions, hardware: Hardware, *, cuda_graph_padding: bool, book: ParameterBook
) -> tuple[CostModel, CostModel]:
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
