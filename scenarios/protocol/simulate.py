"""Runs the protocol on the modelled engine: declares it, writes the arms, replays them, keeps counts and times."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import sqrt
from pathlib import Path

import msgspec
import numpy as np

from scenarios.acceptance import resolve_acceptance
from scenarios.composition.compose import compose
from scenarios.composition.levers import Draws, lever_runs
from scenarios.decide import replay_once
from scenarios.expected import AcceptanceChoice, mean_eps
from scenarios.options import OptionError, ReplayOptions
from scenarios.parameters import ParameterBook
from scenarios.platform import Platform, resolve_platform
from scenarios.protocol.arms import PURPOSES, ArmOptions, arm_sessions
from scenarios.protocol.prereg import (
    BATCHES,
    GAMMAS,
    VERSION,
    ArmPlan,
    Content,
    Prediction,
    PreRegistration,
    registered,
    write_registration,
)
from scenarios.protocol.results import CompositionFigures, Figures, Results, Run
from scenarios.recording import ReadOptions, session_tagger
from simulator import law
from simulator.config import MODELLED_ENGINE
from simulator.lawcosts import read_back
from simulator.metrics import latencies
from simulator.replay import Replay
from simulator.resample import resample
from simulator.sessions import LoadConfig
from simulator.workload import Workload, WorkloadBuilder
from tokenclass.classes import CLASS_OF_SUBCLASS, N_CLASSES, PositionClass
from traces.atomic import whole_file
from traces.model import Session
from traces.readlog import ReadLog
from traces.store import write_trace

REGISTRATION = "preregistration.json"
RESULTS = "results.json"
COMPOSITION_SEEDS = 4
"""Repetitions of the composition on arm D, which give R3 its spread."""
COMPOSITION_NU = 1.3
_CLASS = np.array(CLASS_OF_SUBCLASS, dtype=np.uint8)
_CONTEXT_TOKENS = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolOptions:
    """What to declare and run."""

    arms: ArmOptions = field(default_factory=ArmOptions)
    replay: ReplayOptions = field(default_factory=ReplayOptions)
    gammas: tuple[int, ...] = GAMMAS
    batches: tuple[int, ...] = BATCHES
    force: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Arm:
    name: str
    workload: Workload
    plan: ArmPlan


def run_protocol(options: ProtocolOptions, read: ReadOptions, folder: Path) -> tuple[PreRegistration, Results]:
    """Declare the experiment in *folder*, then run it on the modelled engine and write the results there.

    Raises OptionError, TraceError or SimtoolError; the declaration is on disk before the first replay.
    """
    if not options.gammas or min(options.gammas) < 1 or not options.batches or min(options.batches) < 1:
        raise OptionError("--gamma and --batch need values of at least 1")
    folder.mkdir(parents=True, exist_ok=True)
    book = ParameterBook()
    platforms = {gamma: _platform(options.replay, gamma, book) for gamma in options.gammas}
    choice = resolve_acceptance(options.replay.acceptance, max(options.gammas), book)
    arms = [_arm(name, sessions, read, folder) for name, sessions in arm_sessions(options.arms, read)]
    registration = registered(_content(options, book, platforms, choice, arms))
    write_registration(registration, folder / REGISTRATION, force=options.force)
    results = Results(
        origin="simulated",
        preregistration_sha256=registration.sha256,
        simulated_from_law=True,
        runs=list(_runs(options, platforms, choice, arms)),
        composition=_composition(platforms[options.gammas[0]], choice, arms[-1].workload, options),
    )
    with whole_file(folder / RESULTS) as partial:
        partial.write_bytes(msgspec.json.format(msgspec.json.encode(results), indent=2) + b"\n")
    return registration, results


def _platform(options: ReplayOptions, gamma: int, book: ParameterBook) -> Platform:
    try:
        return resolve_platform(replace(options.platform, num_speculative_tokens=gamma), options.cost, book)
    except ValueError as error:
        raise OptionError(str(error)) from error


def _arm(name: str, sessions: Sequence[Session], read: ReadOptions, folder: Path) -> _Arm:
    path = folder / f"arm-{name}.jsonl"
    write_trace(iter(sessions), path, ReadLog(), "simtool protocol", [f"arm {name}: {PURPOSES[name]}"])
    tagger = session_tagger(read)
    builder = WorkloadBuilder(16)
    for session in sessions:
        builder.add(tagger.tag(session))
    workload = resample(builder.build(every_prompt_twice=True), 1.0, 0)
    counts = np.bincount(_CLASS[workload.labels], minlength=N_CLASSES)
    shares = counts / max(1, counts.sum())
    plan = ArmPlan(
        purpose=PURPOSES[name],
        sessions=workload.n_sessions,
        outputs=workload.n_attempts,
        output_tokens=int(counts.sum()),
        w_S=float(shares[PositionClass.S]),
        w_R=float(shares[PositionClass.R]),
        w_F=float(shares[PositionClass.F]),
        trace_sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
    )
    return _Arm(name=name, workload=workload, plan=plan)


def _content(
    options: ProtocolOptions,
    book: ParameterBook,
    platforms: dict[int, Platform],
    choice: AcceptanceChoice,
    arms: Sequence[_Arm],
) -> Content:
    entries = {name: entry.value for name, entry in book.entries.items() if name != "num_speculative_tokens"}
    acceptance = {name: value for name, value in entries.items() if name.startswith(("eps", "kappa", "acceptance"))}
    return Content(
        version=VERSION,
        modelled_engine=MODELLED_ENGINE,
        platform={name: value for name, value in entries.items() if name not in acceptance},
        acceptance=acceptance,
        temperature=0.0,
        gammas=options.gammas,
        batches=options.batches,
        arms={arm.name: arm.plan for arm in arms},
        predictions=[_prediction(gamma, platform, choice, arms) for gamma, platform in platforms.items()],
        seed=options.replay.seed,
    )


def _prediction(gamma: int, platform: Platform, choice: AcceptanceChoice, arms: Sequence[_Arm]) -> Prediction:
    """The law's closed forms at one sequence."""
    costs = read_back(platform.cost, n_seqs=1, context_tokens=_CONTEXT_TOKENS, gamma=gamma)
    by_arm = {arm.name: mean_eps(arm.workload.labels, choice.eps) for arm in arms}
    o = max(0.0, costs.o)
    return Prediction(
        gamma=gamma,
        tau_S=law.tau(by_arm["B"], gamma),
        tau_R=law.tau(by_arm["C"], gamma),
        tau_F=law.tau(by_arm["A"], gamma),
        saving={name: law.saving(eps_bar, gamma, costs.delta, costs.d, o) for name, eps_bar in by_arm.items()},
    )


def _runs(
    options: ProtocolOptions, platforms: dict[int, Platform], choice: AcceptanceChoice, arms: Sequence[_Arm]
) -> Iterator[Run]:
    seed = options.replay.seed
    for arm in arms:
        for batch in options.batches:
            load = LoadConfig(max_concurrency=batch)
            some = platforms[options.gammas[0]]
            plain = _mean_tpot(replay_once(arm.workload, some.baseline_engine, some, choice, load, seed))
            for gamma, platform in platforms.items():
                replay = replay_once(arm.workload, platform.engine, platform, choice, load, seed)
                mean_s, error_s = _mean_tpot(replay)
                figures = Figures(
                    num_drafts=float(replay.by_step.drafts.sum()),
                    accepted_per_pos=tuple(replay.by_step.accepted_per_pos.astype(np.float64).tolist()),
                    tpot_s=mean_s,
                    tpot_error_s=error_s,
                    plain_tpot_s=plain[0],
                    plain_tpot_error_s=plain[1],
                )
                yield Run(arm=arm.name, gamma=gamma, batch=batch, w_S=arm.plan.w_S, figures=figures)


def _mean_tpot(replay: Replay) -> tuple[float | None, float | None]:
    """Mean time per output token over requests, and its standard error."""
    times = latencies(replay)["tpot_s"]
    known = times[~np.isnan(times)]
    if known.size < 2:
        return (float(known[0]), None) if known.size else (None, None)
    return float(known.mean()), float(known.std(ddof=1) / sqrt(known.size))


def _composition(
    platform: Platform, choice: AcceptanceChoice, workload: Workload, options: ProtocolOptions
) -> CompositionFigures:
    """C_total of arm D by the formula and replayed jointly, once for each of COMPOSITION_SEEDS seeds."""
    nu = options.replay.nu or COMPOSITION_NU
    formula, joint = [], []
    for seed in range(options.replay.seed, options.replay.seed + COMPOSITION_SEEDS):
        draws = Draws(
            once=workload,
            resampled=resample(workload, nu, seed),
            acceptance_once=choice,
            acceptance_resampled=choice,
        )
        load = LoadConfig(max_concurrency=max(options.batches))
        _, rows = compose(list(lever_runs(draws, platform, load, seed)), seed)
        formula.append(rows[-1].C_total_formula_s)
        joint.append(rows[-1].C_total_joint_s)
    return CompositionFigures(formula=formula, joint=joint)
