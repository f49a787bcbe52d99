"""``simtool sessions``: what an agent's session, and a whole task, takes in time, GPU seconds and money."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from simtool import options as o
from simtool import sessionoptions as agents

if TYPE_CHECKING:
    from scenarios.sessionreport import SessionReport, UnitFigures


def command(
    traces: o.Paths,
    *,
    gamma: Annotated[
        int, typer.Option("--gamma", "--num-speculative-tokens", min=0, help="Depth.", rich_help_panel=o.SPECULATION)
    ] = 8,
    model: Annotated[str, typer.Option(help="Target model.", rich_help_panel=o.ENGINE)] = "Qwen3-32B",
    draft_model: Annotated[str, typer.Option(help="Draft model.", rich_help_panel=o.SPECULATION)] = "Qwen3-4B",
    gpu: Annotated[str, typer.Option(help="GPU by name.", rich_help_panel=o.ENGINE)] = "H200",
    max_concurrency: Annotated[int | None, typer.Option(help="Sessions at a time (8).", rich_help_panel=o.LOAD)] = None,
    request_rate: Annotated[float | None, typer.Option(help="Mean requests/s.", rich_help_panel=o.LOAD)] = None,
    arrival_profile: agents.ArrivalProfile = None,
    tool_waits: agents.ToolWaits = agents.ToolWaitsOption.RECORDED,
    tool_speedup: Annotated[float, typer.Option(help="Tool waits are divided by it.", rich_help_panel=o.LOAD)] = 1.0,
    unknown_tool_wait: Annotated[
        float, typer.Option(min=0, help="Seconds of a tool without recorded duration.", rich_help_panel=o.LOAD)
    ] = 0.0,
    sub_agents: agents.SubAgentsOption = agents.SubAgents.JOIN,
    user_waits: Annotated[
        bool, typer.Option("--user-waits", help="Keep recorded waits for a person.", rich_help_panel=o.LOAD)
    ] = False,
    nu: Annotated[float | None, typer.Option(help="Draws per accepted turn.", rich_help_panel=o.LOAD)] = None,
    gate: agents.Gate = None,
    format_name: o.Format = None,
    skip_invalid: o.SkipInvalid = False,
    tokenizer: o.TokenizerName = "qwen3",
    tool_call_format: o.ToolCallFormat = "hermes",
    output_format: o.OutputFormat = None,
    class_mix: o.ClassMixOption = None,
    seed: o.Seed = 0,
    json: o.Json = None,
) -> None:
    """Replay agent sessions and give latency, GPU seconds and cost by session and by task.

    A task is a session that a user started with all sub-agents. nu is measured, with its interval.
    """
    from scenarios.ask import ask
    from scenarios.options import LoadOptions, PlatformOptions, ReplayOptions
    from scenarios.recording import ReadOptions
    from scenarios.sessionreport import session_reports
    from simtool.console import write_json
    from simulator.gate import parse_gate

    try:
        judged = parse_gate(gate) if gate is not None else None
        asked = ask(
            traces,
            ReadOptions(
                format_name=format_name,
                skip_invalid=skip_invalid,
                tokenizer=tokenizer,
                tool_call_format=tool_call_format,
                output_format=output_format,
                class_mix=class_mix,
                seed=seed,
            ),
            ReplayOptions(
                platform=PlatformOptions(gpu=gpu, model=model, draft_model=draft_model, num_speculative_tokens=gamma),
                load=LoadOptions(
                    max_concurrency=max_concurrency,
                    request_rate=request_rate,
                    arrival_profile=arrival_profile,
                    tool_waits=tool_waits.value,
                    tool_speedup=tool_speedup,
                    unknown_tool_wait_s=unknown_tool_wait,
                    user_waits=user_waits,
                    join_sub_agents=sub_agents is agents.SubAgents.JOIN,
                ),
                nu=nu,
                gate=judged,
                seed=seed,
            ),
        )
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    reports = session_reports(asked, judged, seed)
    if json is not None:
        write_json(reports, json)
    if json != "-":
        _show(reports)


def _show(reports: list[SessionReport]) -> None:
    from simtool.console import number, stdout_console, table

    console = stdout_console()
    first = reports[0]
    console.print(
        f"[bold]{first.tasks.count:,} tasks, {first.sessions.count:,} sessions; nu {number(first.nu.value)} (95 %: "
        f"{number(first.nu.low)} to {number(first.nu.high)})[/bold]"
    )
    for title, name in (("By task", "tasks"), ("By session", "sessions")):
        rows = [row for report in reports for row in _rows(report, getattr(report, name))]
        console.print()
        console.print(table(title, ["", "mean", "p50", "p90", "p99", "max"], rows))
    for report in reports:
        if report.gate is not None:
            console.print(
                f"  gate at gamma {report.gamma}: {report.gate.verdicts:,} verdicts, {report.gate.turns_given_up:,} "
                f"turns given up, {number(report.gate.gpu_s)} GPU s ({number(report.gate.gpu_s_per_accepted_turn)} an "
                f"accepted turn), {number(report.gate.usd)} USD",
                markup=False,
            )


def _rows(report: SessionReport, figures: UnitFigures) -> list[tuple[str, ...]]:
    from simtool.console import number

    names = ("latency_s", "decode_s", "prefill_s", "queue_s", "tool_wait_s", "gpu_s", "usd", "turns", "draws")
    return [
        (
            f"{name.replace('_s', ' s').replace('_', ' ')}, gamma {report.gamma}",
            *(number(getattr(figures, name)[at]) for at in ("mean", "p50", "p90", "p99", "max")),
        )
        for name in names
    ]
