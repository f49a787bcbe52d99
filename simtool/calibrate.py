"""``simtool calibrate``: an acceptance profile from what a server or a recording reports."""

from __future__ import annotations

from datetime import date as _date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scenarios.options.settings import Settings
from simtool import options as o
from simtool.bind import with_settings

if TYPE_CHECKING:
    from scenarios.answer import Interval
    from scenarios.calibration.fit import Calibration
    from scenarios.calibration.logprobfit import LogprobFigures
    from scenarios.calibration.logprobkappa import FittedKappa
    from scenarios.calibration.serverfigures import SourceFigures

_CALIBRATION = "Calibration"


@with_settings(only_reading=True)
def command(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT...",
            help="vLLM's /metrics page, server log, bench serve result, responses with per-request speculation "
            "figures, or recordings that carry their rounds or token logprobs (- for one on standard input); found by "
            "content.",
        ),
    ],
    *,
    settings: Settings,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Profile to write, for simtool replay --profile.", rich_help_panel=o.OUTPUT
        ),
    ] = None,
    earlier: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="/metrics page to count from, saved before.", rich_help_panel=_CALIBRATION),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Profile for what is not measured; the declared one.", rich_help_panel=_CALIBRATION
        ),
    ] = None,
    date: Annotated[
        str,
        typer.Option(
            metavar="YYYY-MM-DD", help="When it was measured; kept in the profile.", rich_help_panel=_CALIBRATION
        ),
    ] = "",
    gamma: Annotated[
        int | None, typer.Option(min=1, help="Draft depth of recorded rounds.", rich_help_panel=_CALIBRATION)
    ] = None,
    rho_bar: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="Mean predictability of the traffic, to fit kappa.", rich_help_panel=_CALIBRATION
        ),
    ] = None,
    json: o.Json = None,
) -> None:
    """Fit acceptance, round cost and cache hits to measurements, each with its origin, interval and n.

    Inputs that contradict each other are named and not averaged: the one of most rounds gives the values, the spread
    covers all.
    """
    from scenarios.acceptance.profilefile import read_profile, write_profile
    from scenarios.calibration.fit import calibrate, read_inputs
    from scenarios.calibration.logprobfit import LogprobTally
    from scenarios.options.replay import OptionError
    from scenarios.recordings.recording import open_recording, raw_families, tagged_sessions
    from simtool.console import write_json
    from simulator.defaultprofile import DEFAULT_PROFILE

    try:
        if date:
            _date.fromisoformat(date)
        found = read_inputs(inputs, earlier)
        read = settings.read
        tally = LogprobTally(read, raw_families(read))
        recording = open_recording(found.traces, read) if found.traces else None
        sessions = [] if recording is None else list(tagged_sessions(recording, read, look=tally.look))
        profile = read_profile(Path(base)) if base is not None else DEFAULT_PROFILE
        result = calibrate(
            profile, found.runs, sessions, date=date, gamma=gamma, rho_bar=rho_bar, logprobs=tally.figures()
        )
        if output is not None and result.profile is None:
            raise OptionError(
                f"--output {output}: no input reports acceptance or token logprobs, so there is no profile to write"
            )
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    if output is not None and result.profile is not None:
        write_profile(result.profile, output)
    if json is not None:
        write_json(result, json)
    if json != "-":
        _show(result)


def _show(result: Calibration) -> None:
    from simtool.console import number, percent, stdout_console, table

    console = stdout_console()
    for source in result.sources:
        length = source.acceptance_length
        console.print(
            f"{source.source}: gamma {source.gamma}, {source.rounds:,} rounds, acceptance length "
            f"{length.value:.3f} (95 %: {length.low:.3f} to {length.high:.3f}), acceptance rate "
            f"{percent(source.draft_acceptance_rate)}",
            markup=False,
        )
        console.print(table("", ["position", "per position", "per depth", "low", "high", "n"], _depth_rows(source)))
    if result.logprobs is not None:
        _show_logprobs(result.logprobs, result.kappa)
    for text in result.contradictions:
        console.print(f"contradiction: {text}", markup=False)
    if result.cost is not None:
        cost = result.cost
        console.print(
            f"Round cost from {cost.runs} runs: c_T {number(cost.c_T_ms)} ms, o {number(cost.o)}, delta + d "
            f"{number(cost.delta_plus_d)}; largest residual {percent(cost.largest_residual)}. For a replay: --c-t-ms "
            f"{cost.c_T_ms:.6g} --overhead {cost.o:.6g} --d {cost.delta_plus_d:.6g}",
            markup=False,
        )
    if result.hit_share is not None:
        console.print(f"Prefix cache: h {percent(result.hit_share)} of prompt tokens", markup=False)
    if result.profile is not None:
        rows = [
            (label, number(eps.value), number(eps.low), number(eps.high), eps.origin.value)
            for label, eps in result.profile.eps.items()
        ]
        console.print(table("Profile", ["sub-class", "eps", "low", "high", "origin"], rows))
    for text in result.notes:
        console.print(f"note: {text}", markup=False)
    for name, meaning in result.definitions.items():
        console.print(f"{name}: {meaning}", markup=False)


def _show_logprobs(found: LogprobFigures, kappas: list[FittedKappa]) -> None:
    from simtool.console import stdout_console, table

    console = stdout_console()
    console.print(
        f"Token logprobs: {found.tokens:,} tokens of {found.outputs:,} outputs, top {found.top_k}; rho_bar "
        f"{_spread(found.rho_bar)}",
        markup=False,
    )
    rows = [
        (
            one.label,
            f"{one.tokens:,}",
            _spread(one.entropy),
            _spread(one.entropy_most),
            _spread(one.rho),
            _spread(one.likeliest),
            _spread(one.surprisal),
        )
        for one in found.classes
    ]
    names = ["class", "n", "H least (nats)", "H most", "rho", "likeliest p", "surprisal"]
    console.print(table("Entropy by class (95 %)", names, rows))
    if kappas:
        shown = [(one.label, _spread(one.kappa), f"{one.eps:.3f}", f"{one.rho:.3f}", f"{one.n:,}") for one in kappas]
        console.print(table("kappa = eps / (1 - rho)", ["class", "kappa", "eps", "rho", "n"], shown))


def _spread(one: Interval) -> str:
    return f"{one.value:.3f} ({one.low:.3f}-{one.high:.3f})"


def _depth_rows(source: SourceFigures) -> list[tuple[str, ...]]:
    return [
        (
            str(one.position),
            f"{one.per_position:.3f}",
            f"{one.per_depth.value:.3f}",
            f"{one.per_depth.low:.3f}",
            f"{one.per_depth.high:.3f}",
            f"{one.n:,}",
        )
        for one in source.depths
    ]
