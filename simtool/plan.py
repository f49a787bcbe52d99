"""``simtool plan``: the fewest GPUs, and the least money, that serve this traffic within its targets."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from scenarios.options.settings import Settings
from scenarios.plan.axes import AXES, DEFAULTS, FIXED, FLAGS, chosen_axes
from simtool import options as o
from simtool.bind import with_settings
from simulator.slo import SloMetric

EXIT_SLO = 4
PLAN, CHOICE = "Plan", "Candidates"


def _choice(key: str, metavar: str, text: str, *more: str) -> Any:
    default = f"the scenario's value, or {DEFAULTS[key]}"
    return typer.Option(FLAGS[key], *more, metavar=metavar, help=text, rich_help_panel=CHOICE, show_default=default)


def _plan(flag: str, text: str, **more: Any) -> Any:
    return typer.Option(flag, help=text, rich_help_panel=PLAN, **more)


@with_settings(without=FIXED)
def command(
    traces: o.Paths,
    *,
    sessions_per_s: Annotated[float | None, _plan("--sessions-per-s", "Sessions that users start per second.")] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(
            "--target",
            metavar="METRIC:pP:MS",
            help=f"A percentile of {', '.join(SloMetric)} or session, and its limit in ms; repeat for more.",
            rich_help_panel=o.SLO,
        ),
    ] = None,
    gpus: Annotated[str | None, _choice("gpu", "GPU,..", "GPU types.")] = None,
    tensor_parallel: Annotated[str | None, _choice("tensor_parallel_size", "N,..", "GPUs a replica.")] = None,
    gammas: Annotated[
        str | None,
        _choice("gamma", "N,..", "Draft depths; depths by class with semicolons between: 0;S=8,R=2,F=0."),
    ] = None,
    kv_offload: Annotated[
        str | None, _choice("kv_offload_gb", "GB,..", "Host memory a replica for evicted KV.")
    ] = None,
    routers: Annotated[
        str | None,
        _choice("router", "ROUTER,..", "How requests are spread over replicas; round-robin is one more.", "--router"),
    ] = None,
    every: Annotated[
        bool, _plan("--all", "Size every candidate, those too that cost more than another that serves.")
    ] = False,
    headroom: Annotated[float, _plan("--headroom", "Rate times this, a burst, must meet the targets too.")] = 1.0,
    lose_one: Annotated[bool, _plan("--lose-one", "One replica fewer must meet the targets too.")] = False,
    growth: Annotated[float | None, _plan("--growth", "Plan the rate times this as well.")] = None,
    max_gpus: Annotated[int, _plan("--max-gpus", "Most GPUs of a plan.", min=1)] = 256,
    gpus_available: Annotated[
        int | None, _plan("--gpus-available", "In place of a rate: how much load do so many GPUs take?", min=1)
    ] = None,
    max_requests: Annotated[int, _plan("--max-requests", "Most requests of a replay.", min=100)] = 30_000,
    jobs: Annotated[int | None, _plan("--jobs", "Candidates at a time; as many as cores.", min=1)] = None,
    settings: Settings,
    given: dict[str, Any],
    config: str | None,
    fail_on_slo: Annotated[
        bool,
        typer.Option("--fail-on-slo", help="Exit 4 if no candidate meets the targets.", rich_help_panel=o.OUTPUT),
    ] = False,
    json: o.Json = None,
    no_progress: o.NoProgress = False,
    quiet: o.Quiet = False,
) -> None:
    """Find the fewest GPUs and the least money that serve this traffic within its targets, and say why not fewer.

    The recording's sessions arrive at a steady rate, over and over; each kind of replica is replayed with more and
    fewer of them until the fewest are known.
    """
    from scenarios.plan.run import plan
    from scenarios.plan.targets import Objectives, parse_targets
    from scenarios.plan.wanted import Wanted
    from scenarios.resolve.measure import resolve_measure
    from simtool.config import own_values
    from simtool.console import write_json
    from simtool.progress import progress
    from simtool.show_plan import show

    listed = dict(zip(AXES, (gpus, tensor_parallel, gammas, kv_offload, routers), strict=True))
    axes, notes = chosen_axes(listed, own_values(config, AXES))
    wanted = Wanted(
        objectives=Objectives(targets=parse_targets(target or []), measure=resolve_measure(settings.replay.measure)),
        tasks_per_s=sessions_per_s,
        requests_per_s=settings.replay.load.request_rate,
        gpus_available=gpus_available,
        headroom=headroom,
        lose_one=lose_one,
        growth=growth,
        max_gpus=max_gpus,
        max_requests=max_requests,
        jobs=jobs,
        every=every,
        notes=tuple(notes),
    )
    base = {key: value for key, value in given.items() if key != "request_rate"}
    with progress("looks and sizes of candidates", enabled=not no_progress and not quiet) as bar:
        result = plan(traces, base, axes, wanted, done=bar)
    if json is not None:
        write_json(result, json)
    if json != "-":
        show(result, quiet=quiet)
    if fail_on_slo and not result.feasible:
        sys.exit(EXIT_SLO)
