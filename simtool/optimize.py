"""``simtool optimize-gamma``: the draft depth that saves most on a recording, fixed, by class and by batch size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from simtool import depthquestion as q
from simtool import options as o
from simtool import specoptions as sp

if TYPE_CHECKING:
    from scenarios.optimize import Optimum


def command(
    traces: o.Paths,
    *,
    max_gamma: Annotated[
        int, typer.Option(min=1, max=64, help="Deepest depth tried.", rich_help_panel=o.SPECULATION)
    ] = 16,
    speculative_method: q.Method = "draft_model",
    draft_model: q.DraftModel = "Qwen3-4B",
    eps: q.Eps = None,
    profile: sp.Profile = None,
    prompt_lookup_min: sp.PromptLookupMin = 5,
    prompt_lookup_max: sp.PromptLookupMax = 5,
    prompt_lookup_match: sp.PromptLookupMatch = sp.Match.EARLIEST,
    suffix_decoding_max_tree_depth: sp.SuffixMaxTreeDepth = 24,
    suffix_decoding_max_cached_requests: sp.SuffixMaxCachedRequests = 10_000,
    suffix_decoding_max_spec_factor: sp.SuffixMaxSpecFactor = 1.0,
    suffix_decoding_min_token_prob: sp.SuffixMinTokenProb = 0.1,
    gpu: q.Gpu = "H200",
    model: q.Model = "Qwen3-32B",
    tensor_parallel_size: q.TensorParallel = 1,
    c_t_ms: q.C_T = None,
    delta: q.Delta = None,
    d: q.D = None,
    overhead: q.Overhead = None,
    max_concurrency: q.MaxConcurrency = None,
    format_name: o.Format = None,
    skip_invalid: o.SkipInvalid = False,
    tokenizer: o.TokenizerName = "qwen3",
    tool_call_format: o.ToolCallFormat = "hermes",
    output_format: o.OutputFormat = None,
    class_mix: o.ClassMixOption = None,
    seed: o.Seed = 0,
    json: o.Json = None,
    no_progress: o.NoProgress = False,
) -> None:
    """Find the draft depth that saves most: one for all, one per class, one per batch size.

    Candidates are ranked by expectation over the labelled outputs; the best are then replayed, paired with the replay
    without speculation.
    """
    given = dict(locals())
    from scenarios.optimize import optimize
    from simtool.console import write_json

    try:
        result = optimize(q.set_up_for(traces, given, gamma=max_gamma))
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    if json is not None:
        write_json(result, json)
    if json != "-":
        _show(result)


def _show(result: Optimum) -> None:
    from simtool.console import number, percent, stdout_console, table

    console = stdout_console()
    console.print(f"[bold]{result.advice}[/bold]")
    rows = [
        (
            one.name,
            one.option,
            percent(one.expected_net_saving, sign=True),
            percent(one.replayed.value, sign=True),
            f"{percent(one.replayed.low, sign=True)} to {percent(one.replayed.high, sign=True)}",
        )
        for one in result.candidates
    ]
    console.print()
    console.print(table("Net saving of C_total", ["", "setting", "expected", "replayed", "95 %"], rows))
    sizes = [
        (str(one.batch_size), str(one.gamma), number(one.tokens_per_round), percent(one.decode_saving, sign=True))
        for one in result.by_batch_size
    ]
    console.print()
    console.print(table("Best fixed depth by batch size", ["sequences", "gamma", "tok/round", "decode saving"], sizes))
    for text in result.notes:
        console.print(f"  {text}", markup=False)
