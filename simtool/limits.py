"""``simtool limits``: where must speculation stay off for this traffic on this platform?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from simtool import options as o

if TYPE_CHECKING:
    from scenarios.limits import Limit


def command(
    traces: o.Paths,
    *,
    gamma: Annotated[
        int, typer.Option("--gamma", "--num-speculative-tokens", min=1, help="Depth.", rich_help_panel=o.SPECULATION)
    ] = 8,
    model: Annotated[str, typer.Option(help="Target model.", rich_help_panel=o.ENGINE)] = "Qwen3-32B",
    draft_model: Annotated[str, typer.Option(help="Draft model.", rich_help_panel=o.SPECULATION)] = "Qwen3-4B",
    quantization: Annotated[str, typer.Option(help="Of the target.", rich_help_panel=o.ENGINE)] = "auto",
    draft_quantization: Annotated[str, typer.Option(help="Of the draft.", rich_help_panel=o.SPECULATION)] = "auto",
    draft_placement: Annotated[
        str, typer.Option(help="local, separate or remote.", rich_help_panel=o.SPECULATION)
    ] = "local",
    rtt_ms: Annotated[
        float | None, typer.Option(help="Round trip to the draft.", rich_help_panel=o.SPECULATION)
    ] = None,
    gpu: Annotated[str, typer.Option(help="GPU by name.", rich_help_panel=o.ENGINE)] = "H200",
    max_concurrency: Annotated[int | None, typer.Option(help="Sessions at a time (8).", rich_help_panel=o.LOAD)] = None,
    eps: Annotated[
        str | None,
        typer.Option(metavar="S=..,R=..,F=..", help="Mismatch by class.", rich_help_panel=o.SPECULATION),
    ] = None,
    format_name: o.Format = None,
    skip_invalid: o.SkipInvalid = False,
    tokenizer: o.TokenizerName = "qwen3",
    tool_call_format: o.ToolCallFormat = "hermes",
    output_format: o.OutputFormat = None,
    class_mix: o.ClassMixOption = None,
    seed: o.Seed = 0,
    json: o.Json = None,
) -> None:
    """Four rules with numbers: schema share on your own spans, precision, round trip to the draft, batch size."""
    from scenarios.limits import limits
    from scenarios.options import AcceptanceOptions, LoadOptions, OptionError, PlatformOptions, ReplayOptions, parse_eps
    from scenarios.recording import ReadOptions
    from scenarios.setup import set_up
    from simtool.console import write_json

    platform = PlatformOptions(
        gpu=gpu,
        model=model,
        draft_model=draft_model,
        quantization=quantization,
        draft_quantization=draft_quantization,
        draft_placement=draft_placement,
        rtt_ms=rtt_ms,
        num_speculative_tokens=gamma,
    )
    read = ReadOptions(
        format_name=format_name,
        skip_invalid=skip_invalid,
        tokenizer=tokenizer,
        tool_call_format=tool_call_format,
        output_format=output_format,
        class_mix=class_mix,
        seed=seed,
    )
    try:
        options = ReplayOptions(
            platform=platform,
            acceptance=AcceptanceOptions(eps=parse_eps(eps) if eps is not None else None),
            load=LoadOptions(max_concurrency=max_concurrency),
            seed=seed,
        )
        setup = set_up(traces, read, options)
    except OptionError as error:
        raise typer.BadParameter(str(error)) from None
    found = limits(setup.baseline, setup.platform, platform, setup.choice, gamma)
    if json is not None:
        write_json(found, json)
    if json != "-":
        _show(found)


def _show(found: list[Limit]) -> None:
    from simtool.console import number, stdout_console, table

    console = stdout_console()
    off = [one.rule for one in found if one.stay_off]
    head = f"stay off: {'; '.join(off)}" if off else "no rule says that speculation must stay off here"
    console.print(f"[bold]{head}[/bold]")
    rows = [
        (
            one.rule,
            {True: "off", False: "may be on", None: "does not apply"}[one.stay_off],
            number(one.figure),
            number(one.limit),
            one.unit,
        )
        for one in found
    ]
    console.print()
    console.print(table("", ["rule", "says", "here", "limit", "unit"], rows))
    for one in found:
        console.print(f"  {one.rule}: {one.reason}", markup=False)
