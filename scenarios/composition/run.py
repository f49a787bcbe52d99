"""Composition of a recording: reads it, replays the eight combinations, rules on R3 and adds up quality."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from scenarios.acceptance.choice import choose_acceptance, is_measured
from scenarios.acceptance.grammar import needs_forced
from scenarios.acceptance.policy import engine_under
from scenarios.agents.quality import QualityBudget, budget_of
from scenarios.answer import Interval
from scenarios.composition.compose import Composed, Factors, compose
from scenarios.composition.levers import Draws, lever_runs
from scenarios.options.parameters import Parameter, ParameterBook
from scenarios.options.read import ReadOptions
from scenarios.options.replay import OptionError, ReplayOptions
from scenarios.recordings.recording import Progress, load_workload, open_recording
from scenarios.resolve.clusters import with_cluster
from scenarios.resolve.draws import drawn_workload
from scenarios.resolve.load import resolve_load
from scenarios.resolve.platform import resolve_platform
from simulator import predictions
from simulator.origin import Origin
from simulator.replay import Watch
from simulator.resample import resample
from simulator.workload import Workload

DEFAULT_NU = 1.3
"""Draws per accepted turn: in the range that tool calls valid under their schemas in 76 to 100 % of draws give."""


class CompositionAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """C_total of eight combinations of levers three ways."""

    trace_sha256: str
    seed: int
    sessions: int
    turns: int
    factors: Factors
    combinations: list[Composed]
    r3: str
    """Ruling on orthogonal composition with all levers on: holds or rejected where the whole interval of the residual
    says so, else undecided."""
    r3_reason: str
    quality: QualityBudget
    config: dict[str, Parameter]
    assumptions: dict[str, int]


def composition(
    paths: Sequence[str],
    read: ReadOptions,
    options: ReplayOptions,
    progress: Progress | None = None,
    watch: Watch | None = None,
) -> CompositionAnswer:
    """C_total of the recordings at *paths* with levers on and off; *watch* is told how far the replays are.

    Resampling on means the draws of ``options.gate`` or ``options.nu``, DEFAULT_NU without either.

    Raises OptionError for options out of range, TraceError or SimtoolError for recordings that cannot be used.
    """
    if not options.platform.num_speculative_tokens:
        raise OptionError("--gamma is 0; composition needs speculation to switch on")
    book = ParameterBook()
    try:
        platform = with_cluster(resolve_platform(options.platform, options.cost, book), options.cluster, book)
        budget = budget_of(options, resampling=True)
    except OptionError:
        raise
    except ValueError as error:
        raise OptionError(str(error)) from error
    recording = open_recording(paths, read)
    recorded = load_workload(
        recording,
        read,
        block_size=platform.engine.block_size,
        every_prompt_twice=True,
        keep_ids=is_measured(platform.engine, options.acceptance),
        keep_forced=needs_forced(options.policy),
        progress=progress,
    )
    platform = replace(platform, engine=engine_under(platform.engine, options.policy))
    once, again = resample(recorded, 1.0, options.seed), drawn_again(recorded, options, book)
    draws = Draws(
        once=once,
        resampled=again,
        acceptance_once=choose_acceptance(recorded, once, platform.engine, options, recording, ParameterBook()),
        acceptance_resampled=choose_acceptance(recorded, again, platform.engine, options, recording, book),
    )
    load = resolve_load(options.load, once, book, num_replicas=platform.cluster.num_replicas)
    factors, combinations = compose(list(lever_runs(draws, platform, load, options.seed, watch)), options.seed)
    everything = combinations[-1]
    ruling = predictions.r3(everything.C_total_formula_s, everything.C_total_joint_s)
    return CompositionAnswer(
        trace_sha256=recording.sha256,
        seed=options.seed,
        sessions=once.n_sessions,
        turns=once.n_turns,
        factors=factors,
        combinations=combinations,
        r3=ruled(everything.residual),
        r3_reason=ruling.reason,
        quality=budget,
        config=book.entries,
        assumptions=recording.notes(),
    )


def ruled(residual: Interval) -> str:
    """What an interval of the residual says of R3, whose limit is on its size."""
    limit = predictions.R3_RESIDUAL
    if -limit <= residual.low and residual.high <= limit:
        return predictions.Ruling.HOLDS.value
    if residual.high < -limit or residual.low > limit:
        return predictions.Ruling.REJECTED.value
    return "undecided"


def drawn_again(recorded: Workload, options: ReplayOptions, book: ParameterBook) -> Workload:
    """*recorded* with the draws that resampling means. Raises OptionError."""
    if options.nu is not None or options.gate is not None:
        return drawn_workload(recorded, options, book)
    book.add("nu", DEFAULT_NU, Origin.DECLARED, "default: geometric draws")
    return resample(recorded, DEFAULT_NU, options.seed)
