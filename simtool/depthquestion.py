"""What the commands about draft depths have in common: the options of a replay that matter to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from simtool import options as o

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scenarios.setup import Setup

Method = Annotated[
    str,
    typer.Option(
        "--speculative-method", help="draft_model, eagle, eagle3, mtp, ngram or suffix.", rich_help_panel=o.SPECULATION
    ),
]
DraftModel = Annotated[
    str,
    typer.Option("--draft-model", help="Draft model by name, or its config.json.", rich_help_panel=o.SPECULATION),
]
Eps = Annotated[
    str | None,
    typer.Option(metavar="S=..,R=..,F=..", help="Mismatch by class or sub-class.", rich_help_panel=o.SPECULATION),
]
Gpu = Annotated[str, typer.Option(help="GPU by name.", rich_help_panel=o.ENGINE)]
Model = Annotated[str, typer.Option(help="Target model by name, or its config.json.", rich_help_panel=o.ENGINE)]
TensorParallel = Annotated[
    int, typer.Option("--tensor-parallel-size", "-tp", min=1, help="GPUs a replica.", rich_help_panel=o.ENGINE)
]
C_T = Annotated[
    float | None,
    typer.Option("--c-t-ms", help="Declared c_T: a target pass in ms.", rich_help_panel=o.ENGINE),
]
Delta = Annotated[float | None, typer.Option(help="Declared delta: per extra token.", rich_help_panel=o.ENGINE)]
D = Annotated[float | None, typer.Option("--d", help="Declared d: per draft pass.", rich_help_panel=o.ENGINE)]
Overhead = Annotated[float | None, typer.Option(help="Declared o: per round.", rich_help_panel=o.ENGINE)]
MaxConcurrency = Annotated[int | None, typer.Option(help="Sessions at a time.", rich_help_panel=o.LOAD)]


def set_up_for(traces: Sequence[str], given: Mapping[str, Any], *, gamma: int) -> Setup:
    """The setup that the options *given* describe. Raises ValueError or SimtoolError where they are unusable."""
    from scenarios.options import (
        AcceptanceOptions,
        CostOptions,
        LoadOptions,
        PlatformOptions,
        ReplayOptions,
        parse_eps,
    )
    from scenarios.recording import ReadOptions
    from scenarios.setup import set_up
    from scenarios.speculation import DrafterOptions
    from simtool.progress import progress
    from simulator.acceptance.ngram import Occurrence

    drafter = {name: given[name] for name in DrafterOptions.__slots__ if name in given}
    drafter["prompt_lookup_match"] = Occurrence(given["prompt_lookup_match"].value)
    asked = ReplayOptions(
        platform=PlatformOptions(
            gpu=given["gpu"],
            tensor_parallel_size=given["tensor_parallel_size"],
            model=given["model"],
            draft_model=given["draft_model"],
            speculative_method=given["speculative_method"],
            num_speculative_tokens=gamma,
        ),
        cost=CostOptions(c_T_ms=given["c_t_ms"], delta=given["delta"], d=given["d"], overhead=given["overhead"]),
        acceptance=AcceptanceOptions(
            eps=parse_eps(given["eps"]) if given["eps"] is not None else None, profile=given["profile"]
        ),
        drafter=DrafterOptions(**drafter),
        load=LoadOptions(max_concurrency=given["max_concurrency"]),
        seed=given["seed"],
    )
    read_names = ("format_name", "skip_invalid", "tokenizer", "tool_call_format", "output_format", "class_mix", "seed")
    read = ReadOptions(**{name: given[name] for name in read_names})
    with progress("sessions read", enabled=not given["no_progress"]) as count:
        return set_up(traces, read, asked, progress=count)
