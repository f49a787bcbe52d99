"""``simtool calibrate``: an acceptance profile from what a server or a recording reports."""

from __future__ import annotations

from datetime import date as _date
from pathlib import Path
from typing import Annotated

import typer

from scenarios.options.settings import Settings
from simtool import options as o
from simtool.bind import with_settings

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
    draft_free: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Run with an n-gram or suffix drafter on the same server: parts delta from d.",
            rich_help_panel=_CALIBRATION,
        ),
    ] = None,
    draft_alone: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE", help="Run of the draft model served alone: gives d.", rich_help_panel=_CALIBRATION
        ),
    ] = None,
    parameter_ratio: Annotated[
        float | None,
        typer.Option(
            min=1e-9, max=1, help="Draft parameters over target parameters: gives eta.", rich_help_panel=_CALIBRATION
        ),
    ] = None,
    autocorrelation: Annotated[
        bool,
        typer.Option(
            help="Profile of means over positions and lag-1 autocorrelation, in place of acceptance by depth.",
            rich_help_panel=_CALIBRATION,
        ),
    ] = False,
    json: o.Json = None,
) -> None:
    """Fit acceptance, round cost and cache hits to measurements, each with its origin, interval and n.

    Inputs that contradict each other are named and not averaged: the one of most rounds gives the values, the spread
    covers all.
    """
    from scenarios.acceptance.profilefile import read_profile, write_profile
    from scenarios.calibration.fit import calibrate
    from scenarios.calibration.inputs import read_inputs
    from scenarios.calibration.logprobfit import LogprobTally
    from scenarios.options.replay import OptionError
    from scenarios.recordings.recording import open_recording, raw_families, tagged_sessions
    from simtool.console import write_json
    from simtool.show_calibrate import show
    from simulator.defaultprofile import DEFAULT_PROFILE

    try:
        if date:
            _date.fromisoformat(date)
        found = read_inputs(inputs, earlier, draft_free=draft_free or (), draft_alone=draft_alone or ())
        read = settings.read
        tally = LogprobTally(read, raw_families(read))
        recording = open_recording(found.traces, read) if found.traces else None
        sessions = [] if recording is None else list(tagged_sessions(recording, read, look=tally.look))
        profile = read_profile(Path(base)) if base is not None else DEFAULT_PROFILE
        result = calibrate(
            profile,
            found.runs,
            sessions,
            date=date,
            gamma=gamma,
            rho_bar=rho_bar,
            logprobs=tally.figures(),
            parameter_ratio=parameter_ratio,
            correlated=autocorrelation,
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
        show(result)
