"""Resolves how a workload is offered: closed loop, random arrivals, or recorded times."""

from __future__ import annotations

import numpy as np

from scenarios.options.parameters import ParameterBook
from scenarios.options.replay import LoadOptions, OptionError
from scenarios.resolve.arrivalprofile import read_arrival_profile
from simulator.origin import Origin
from simulator.sessions import LoadConfig, SessionMode, ToolWaits
from simulator.workload import Workload
from traces.choice import not_one_of

DEFAULT_MAX_CONCURRENCY = 8
"""The law's throughput batch; larger ones leave the memory-bound regime that it declares."""

_TOOL_WAITS = ("recorded", "scaled", "drawn")


def resolve_load(options: LoadOptions, workload: Workload, book: ParameterBook, *, num_replicas: int = 1) -> LoadConfig:
    """The load that *options* describe for *workload*, each parameter recorded in *book*.

    Raises OptionError where options contradict each other or the recording has no times to replay.
    """
    mode = _mode(options, workload, book)
    rates = read_arrival_profile(options.arrival_profile) if options.arrival_profile is not None else ()
    tool_waits = _tool_waits(options, book)
    book.add("sub_agents", options.sub_agents, Origin.DECLARED, "what a parent waits for")
    concurrency = options.max_concurrency
    default = DEFAULT_MAX_CONCURRENCY * num_replicas
    if mode is SessionMode.CLOSED:
        source = "the law's throughput batch" + (", for each replica" if num_replicas > 1 else "")
        book.choose("max_concurrency", concurrency, default, source)
    elif mode is SessionMode.RATE:
        book.add("request_rate", options.request_rate, Origin.DECLARED, "given; sessions arrive, turns stay causal")
        book.add("burstiness", options.burstiness, Origin.DECLARED, "given" if options.burstiness != 1 else "Poisson")
    elif mode is SessionMode.PROFILE:
        book.add("arrival_profile", str(list(rates)), Origin.DECLARED, "given: requests per second of each hour")
        book.add("burstiness", options.burstiness, Origin.DECLARED, "given" if options.burstiness != 1 else "Poisson")
    else:
        book.add("speedup", options.speedup, Origin.DECLARED, "given" if options.speedup != 1 else "as recorded")
    book.add("tool_speedup", options.tool_speedup, Origin.DECLARED, "tool waits as recorded, divided by this")
    book.add("unknown_tool_wait_s", options.unknown_tool_wait_s, Origin.DECLARED, "tools without recorded duration")
    book.add("user_waits", options.user_waits, Origin.DECLARED, "waits for a person are left out unless asked for")
    try:
        return LoadConfig(
            mode=mode,
            max_concurrency=default if concurrency is None else concurrency,
            request_rate_per_s=float("inf") if options.request_rate is None else options.request_rate,
            burstiness=options.burstiness,
            speedup=options.speedup,
            hourly_rates_per_s=rates,
            tool_waits=tool_waits,
            tool_speedup=options.tool_speedup,
            unknown_tool_wait_s=options.unknown_tool_wait_s,
            user_waits=options.user_waits,
            join_sub_agents=options.sub_agents == "join",
        )
    except ValueError as error:
        raise OptionError(str(error)) from error


def _mode(options: LoadOptions, workload: Workload, book: ParameterBook) -> SessionMode:
    timed = bool(np.any(~np.isnan(workload.session_start_s)) or np.any(~np.isnan(workload.turn_sent_s)))
    chosen = [
        options.request_rate is not None,
        bool(options.self_timed),
        options.max_concurrency is not None,
        options.arrival_profile is not None,
    ]
    if sum(chosen) > 1:
        raise OptionError(
            "--request-rate, --arrival-profile, --self-timed and --max-concurrency exclude each other: give one"
        )
    if options.self_timed and not timed:
        raise OptionError("--self-timed needs recorded times, and this recording has none")
    if options.arrival_profile is not None:
        mode, source = SessionMode.PROFILE, "--arrival-profile"
    elif options.request_rate is not None:
        mode, source = SessionMode.RATE, "--request-rate"
    elif options.self_timed:
        mode, source = SessionMode.RECORDED, "--self-timed"
    elif options.max_concurrency is None and options.self_timed is None and timed and _single_requests(workload):
        mode, source = SessionMode.RECORDED, "default for single requests with recorded times"
    else:
        mode, source = SessionMode.CLOSED, "default for agent sessions"
    book.add("load", mode.value, Origin.DECLARED, source)
    return mode


def _tool_waits(options: LoadOptions, book: ParameterBook) -> ToolWaits:
    if options.tool_waits == "scaled" and options.tool_speedup == 1:
        raise OptionError("--tool-waits scaled needs --tool-speedup, which recorded waits are divided by")
    if options.tool_waits not in _TOOL_WAITS:
        raise OptionError(f"--tool-waits {not_one_of(options.tool_waits, _TOOL_WAITS)}")
    drawn = options.tool_waits == "drawn"
    source = "from those recorded of the same tool" if drawn else "the recording's own"
    book.add("tool_waits", options.tool_waits, Origin.DECLARED, source)
    return ToolWaits.DRAWN if drawn else ToolWaits.RECORDED


def _single_requests(workload: Workload) -> bool:
    return workload.n_sessions == workload.n_turns and workload.n_turns > 1
