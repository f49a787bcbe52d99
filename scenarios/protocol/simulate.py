"""Runs the protocol on the modelled engine: declares it, writes the arms, replays them, keeps counts and times."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from scenarios.acceptance.choice import is_measured, resolve_acceptance
from scenarios.acceptance.expected import AcceptanceChoice, mean_eps
from scenarios.acceptance.policy import engine_under, resolve_policy
from scenarios.agents.quality import budget_of
from scenarios.jsonbytes import json_bytes
from scenarios.options.parameters import ParameterBook
from scenarios.options.read import ReadOptions
from scenarios.options.replay import OptionError, ReplayOptions
from scenarios.protocol.arms import PURPOSES, arm_sessions
from scenarios.protocol.prereg import (
    REGISTRATION,
    VERSION,
    ArmPlan,
    Content,
    Prediction,
    PreRegistration,
    arm_file,
    registered,
    write_registration,
)
from scenarios.protocol.replays import ProtocolOptions, ReadyArm, arm_composition, arm_runs, closed_loop
from scenarios.protocol.results import Results
from scenarios.recordings.recording import session_tagger
from scenarios.resolve.clusters import with_cluster
from scenarios.resolve.platform import Platform, resolve_platform
from simulator import law
from simulator.config import MODELLED_ENGINE
from simulator.lawcosts import read_back
from simulator.resample import resample
from simulator.workloadbuilder import WorkloadBuilder
from tokenclass.classes import CLASS_OF_SUBCLASS, N_CLASSES, PositionClass
from traces.atomic import whole_file
from traces.model import Session
from traces.readlog import ReadLog
from traces.store import write_trace

RESULTS = "results.json"
_CLASS = np.array(CLASS_OF_SUBCLASS, dtype=np.uint8)
_CONTEXT_TOKENS = 1024


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
    choice = resolve_policy(choice, options.replay.policy, None, options.replay.seed, book)
    arms = [_arm(name, sessions, read, folder) for name, sessions in arm_sessions(options.arms, read)]
    _declare_load(options.replay, platforms[options.gammas[0]], arms, book)
    registration = registered(_content(options, book, platforms, choice, arms))
    write_registration(registration, folder / REGISTRATION, force=options.force)
    results = Results(
        origin="simulated",
        preregistration_sha256=registration.sha256,
        simulated_from_law=True,
        runs=list(arm_runs(options, platforms, choice, arms)),
        composition=arm_composition(platforms[options.gammas[0]], choice, arms[-1].workload, options),
    )
    with whole_file(folder / RESULTS) as partial:
        partial.write_bytes(json_bytes(results))
    return registration, results


def _platform(options: ReplayOptions, gamma: int, book: ParameterBook) -> Platform:
    if options.platform.draft_tree is not None:
        raise OptionError("--draft-tree: the protocol's arms draft chains; replay its recording with the tree")
    asked = replace(options.platform, num_speculative_tokens=gamma)
    try:
        platform = with_cluster(resolve_platform(asked, options.cost, book), options.cluster, book)
    except OptionError:
        raise
    except ValueError as error:
        raise OptionError(str(error)) from error
    if is_measured(platform.engine, options.acceptance):
        raise OptionError(
            f"--speculative-method {options.platform.speculative_method}: the arms' text is invented, so nothing "
            "can be measured on it; declare acceptance (--eps, --acceptance-length, --profile), or run the arms on a "
            "server and check its results"
        )
    return replace(platform, engine=engine_under(platform.engine, options.policy))


def _declare_load(options: ReplayOptions, platform: Platform, arms: Sequence[ReadyArm], book: ParameterBook) -> None:
    """Note what is said of waits and sub-agents; the batches are declared as such. Raises OptionError."""
    own = ParameterBook()
    closed_loop(options, 1, platform, arms[-1].workload, own)
    for name, entry in own.entries.items():
        if name not in ("load", "max_concurrency"):
            book.add(name, entry.value, entry.origin, entry.source)


def _arm(name: str, sessions: Sequence[Session], read: ReadOptions, folder: Path) -> ReadyArm:
    path = folder / arm_file(name)
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
    return ReadyArm(name=name, workload=workload, plan=plan)


def _content(
    options: ProtocolOptions,
    book: ParameterBook,
    platforms: dict[int, Platform],
    choice: AcceptanceChoice,
    arms: Sequence[ReadyArm],
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
        quality=budget_of(options.replay),
    )


def _prediction(gamma: int, platform: Platform, choice: AcceptanceChoice, arms: Sequence[ReadyArm]) -> Prediction:
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
