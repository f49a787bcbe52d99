"""Replays the arms on the modelled engine and keeps what the check needs: rounds, times, C_total."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from scenarios.acceptance.expected import AcceptanceChoice
from scenarios.composition.compose import compose
from scenarios.composition.levers import Draws, lever_runs
from scenarios.composition.run import drawn_again
from scenarios.decide import replay_once
from scenarios.options.parameters import ParameterBook
from scenarios.options.replay import ReplayOptions
from scenarios.protocol.arms import ArmOptions
from scenarios.protocol.prereg import BATCHES, GAMMAS, ArmPlan
from scenarios.protocol.results import CompositionFigures, Figures, Run
from scenarios.resolve.load import resolve_load
from scenarios.resolve.platform import Platform
from simulator.intervals import clustered_ratio
from simulator.metrics import LATENCIES
from simulator.replay import Replay
from simulator.sessions import LoadConfig
from simulator.workload import Workload

COMPOSITION_SEEDS = 4
"""Repetitions of the composition on arm D, which give R3 its spread."""
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolOptions:
    """What to declare and run."""

    arms: ArmOptions = field(default_factory=ArmOptions)
    replay: ReplayOptions = field(default_factory=ReplayOptions)
    gammas: tuple[int, ...] = GAMMAS
    batches: tuple[int, ...] = BATCHES
    force: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyArm:
    """An arm as it will be replayed."""

    name: str
    workload: Workload
    plan: ArmPlan


def closed_loop(
    options: ReplayOptions, batch: int, platform: Platform, workload: Workload, book: ParameterBook
) -> LoadConfig:
    """*batch* sequences on each replica, in closed loop. Raises OptionError."""
    asked = replace(options.load, max_concurrency=batch * platform.cluster.num_replicas)
    return resolve_load(asked, workload, book, num_replicas=platform.cluster.num_replicas)


def arm_runs(
    options: ProtocolOptions, platforms: dict[int, Platform], choice: AcceptanceChoice, arms: Sequence[ReadyArm]
) -> Iterator[Run]:
    """Each arm at each batch and depth, beside the same arm without speculation."""
    seed = options.replay.seed
    for arm in arms:
        for batch in options.batches:
            some = platforms[options.gammas[0]]
            load = closed_loop(options.replay, batch, some, arm.workload, ParameterBook())
            plain = _mean_tpot(replay_once(arm.workload, some.baseline_engine, some, choice, load, seed), arm.workload)
            for gamma, platform in platforms.items():
                replay = replay_once(arm.workload, platform.engine, platform, choice, load, seed)
                mean_s, error_s = _mean_tpot(replay, arm.workload)
                rounds, accepted = (
                    _by_session(arm.workload, column)
                    for column in (replay.by_step.drafts, replay.by_step.accepted_tokens)
                )
                figures = Figures(
                    num_drafts=float(replay.by_step.drafts.sum()),
                    accepted_per_pos=tuple(replay.by_step.accepted_per_pos.astype(np.float64).tolist()),
                    tpot_s=mean_s,
                    tpot_error_s=error_s,
                    plain_tpot_s=plain[0],
                    plain_tpot_error_s=plain[1],
                    rounds_by_session=tuple(rounds.tolist()),
                    accepted_by_session=tuple(accepted.tolist()),
                )
                yield Run(arm=arm.name, gamma=gamma, batch=batch, w_S=arm.plan.w_S, figures=figures)


def _by_session(workload: Workload, values: F64 | I64) -> F64:
    owner = workload.attempt_session
    return np.bincount(owner, values, workload.n_sessions).astype(np.float64)


def _mean_tpot(replay: Replay, workload: Workload) -> tuple[float | None, float | None]:
    """Mean time per output token over requests, and its standard error over sessions."""
    times = LATENCIES["tpot_s"](replay)
    known = ~np.isnan(times)
    counts = _by_session(workload, known.astype(np.int64))
    some = counts > 0
    if not some.any():
        return None, None
    mean_s, error_s = clustered_ratio(_by_session(workload, np.where(known, times, 0.0))[some], counts[some])
    return mean_s, error_s if np.isfinite(error_s) else None


def arm_composition(
    platform: Platform, choice: AcceptanceChoice, workload: Workload, options: ProtocolOptions
) -> CompositionFigures:
    """C_total of arm D by the formula and replayed jointly, once for each of COMPOSITION_SEEDS seeds."""
    formula, joint = [], []
    for seed in range(options.replay.seed, options.replay.seed + COMPOSITION_SEEDS):
        draws = Draws(
            once=workload,
            resampled=drawn_again(workload, replace(options.replay, seed=seed), ParameterBook()),
            acceptance_once=choice,
            acceptance_resampled=choice,
        )
        load = closed_loop(options.replay, max(options.batches), platform, workload, ParameterBook())
        _, rows = compose(list(lever_runs(draws, platform, load, seed)), seed)
        formula.append(rows[-1].C_total_formula_s)
        joint.append(rows[-1].C_total_joint_s)
    return CompositionFigures(formula=formula, joint=joint)
