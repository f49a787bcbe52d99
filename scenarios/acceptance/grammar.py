"""Resolves constrained decoding: what the engine does under a grammar, and on how many tokens."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from scenarios.acceptance.expected import AcceptanceChoice
from scenarios.options.drafting import PolicyOptions
from scenarios.options.parameters import ParameterBook
from scenarios.recordings.recording import Recording
from simulator.acceptance.base import F64, I64, U64, ExactModel, Outputs
from simulator.acceptance.grammar import Constraint, GrammarAcceptance, GrammarMode, GrammarObserved, within_call
from simulator.acceptance.recorded import Attempts
from simulator.acceptance.table import from_eps
from simulator.acceptance.threshold import ThresholdModel
from simulator.longcolumns import gathered
from simulator.origin import Origin
from simulator.replay import attempt_keys
from simulator.workload import Workload
from tokenclass.classes import N_SUBCLASSES

Bools = npt.NDArray[np.bool_]

UNKNOWN = "call tokens whose tools or text are not recorded: none of them is taken as forced"


def needs_forced(options: PolicyOptions) -> bool:
    """Whether it must be known which tokens are forced."""
    return options.grammar in (GrammarMode.ACCEPT, GrammarMode.JUMP)


def source_attempts(recorded: Workload, workload: Workload) -> I64:
    """The recorded attempt that each attempt of *workload*, which repeats the accepted ones, is a draw of."""
    if workload is recorded:
        return np.arange(recorded.n_attempts)
    repeated: I64 = recorded.turn_attempts[1:][workload.attempt_turn] - 1
    return repeated


def forced_tokens(recorded: Workload, recording: Recording) -> Bools:
    """Whether each token of *recorded* is forced; call tokens of which it is not known become an assumption."""
    if recording.forced is None:
        return np.zeros(recorded.labels.size, dtype=np.bool_)
    if recording.forced.unknown_tokens:
        recording.assumptions[UNKNOWN] = recording.forced.unknown_tokens
    return recording.forced.joined()


def resolve_grammar(
    choice: AcceptanceChoice,
    workloads: tuple[Workload, Workload, I64],
    options: PolicyOptions,
    seed: int,
    recording: Recording,
    book: ParameterBook,
) -> AcceptanceChoice:
    """*choice* under the grammar of *options*.

    *workloads* are the recorded one, the one that is replayed, and the recorded attempt that each of its attempts
    repeats.
    """
    mode = GrammarMode(options.grammar)
    if mode is GrammarMode.NONE:
        return choice
    recorded, workload, source_of = workloads
    forced = forced_tokens(recorded, recording)
    source = "given: what the engine does under a grammar"
    if recording.forced is not None:
        source += f"; {forced.sum() / max(1, recording.forced.call_tokens):.1%} of the call tokens are forced by "
        source += "grammar and schema"
    book.add("grammar", mode.value, Origin.DECLARED, source)
    if choice.measured and mode is GrammarMode.ACCEPT:
        return choice  # its outcomes were found with the forced drafts in them
    constraint = _constraint(mode, recorded, attempt_keys(workload, seed), source_of, forced)
    return _under(choice, constraint, _shares(recorded, forced, mode))


def _constraint(mode: GrammarMode, recorded: Workload, keys: U64, source: I64, forced: Bools) -> Constraint:
    forced, offsets = gathered(forced, recorded.offsets[source], np.diff(recorded.offsets)[source])
    return Constraint(mode, Attempts(keys, offsets), forced)


def _shares(recorded: Workload, forced: Bools, mode: GrammarMode) -> F64:
    """Share of the tokens of each sub-class whose drafts the grammar decides."""
    decided = forced
    if mode is GrammarMode.NO_DRAFT:
        keys = np.zeros(recorded.n_attempts, dtype=np.uint64)
        decided = within_call(Outputs(recorded.labels, recorded.offsets, keys))
    counts = np.bincount(recorded.labels, minlength=N_SUBCLASSES)
    shares: F64 = np.bincount(recorded.labels, decided, N_SUBCLASSES) / np.maximum(counts, 1)
    return shares


def _under(choice: AcceptanceChoice, constraint: Constraint, shares: F64) -> AcceptanceChoice:
    """*choice* with its models, and the law's eps by sub-class, under *constraint*."""

    def governed(model: ExactModel) -> ExactModel:
        return GrammarAcceptance(model, constraint) if isinstance(model, ThresholdModel) else model

    eps = {
        GrammarMode.ACCEPT: choice.eps * (1 - shares),
        GrammarMode.NO_DRAFT: choice.eps * (1 - shares) + shares,
    }.get(constraint.mode, choice.eps)
    by_label = {GrammarMode.ACCEPT: from_eps(np.clip(eps, 0, 1).tolist()), GrammarMode.JUMP: choice.table}
    model = choice.model
    return replace(
        choice,
        model=GrammarAcceptance(model, constraint)
        if isinstance(model, ThresholdModel)
        else GrammarObserved(model, constraint),
        table=governed(choice.table),
        pessimistic=governed(choice.pessimistic),
        optimistic=governed(choice.optimistic),
        eps=eps,
        constraint=constraint,
        by_label=by_label.get(constraint.mode),
    )
