"""Resolves acceptance: a profile, declared or given, or a drafter without a model run on the recorded tokens."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from msgspec.structs import replace

from scenarios.acceptance.drafters import MeasuredDrafts, Measurer, measure
from scenarios.acceptance.expected import AcceptanceChoice
from scenarios.acceptance.grammar import forced_tokens, resolve_grammar, source_attempts
from scenarios.acceptance.policy import resolve_policy
from scenarios.acceptance.profilefile import read_profile
from scenarios.acceptance.treeacceptance import tree_acceptance
from scenarios.drafters.base import Drafter, drafters, options_of
from scenarios.law.curve import MAX_GAMMA, SUFFIX_GAMMAS
from scenarios.options.option import declared
from scenarios.options.parameters import ParameterBook
from scenarios.options.replay import AcceptanceOptions, OptionError, ReplayOptions
from scenarios.recordings.recording import Recording
from scenarios.resolve.hardwarechoice import given_tree
from simulator.acceptance.base import I64, U64
from simulator.acceptance.grammar import GrammarMode
from simulator.config import EngineConfig, SpeculativeMethod
from simulator.defaultprofile import DEFAULT_PROFILE
from simulator.origin import Origin
from simulator.profile import (
    AcceptanceProfile,
    Case,
    with_acceptance_length,
    with_eps,
    with_kappa_rho,
)
from simulator.replay import attempt_keys
from simulator.workload import Workload
from tokenclass.classes import SubClass


def is_measured(engine: EngineConfig, options: AcceptanceOptions) -> bool:
    """Whether acceptance is measured on the recorded tokens: a drafter without a model, and nothing given in place."""
    return engine.speculative_method is SpeculativeMethod.MODEL_FREE and not options.given


def choose_acceptance(
    recorded: Workload,
    workload: Workload,
    engine: EngineConfig,
    options: ReplayOptions,
    recording: Recording,
    book: ParameterBook,
    source: I64 | None = None,
    measurer: Measurer = measure,
) -> AcceptanceChoice:
    """The acceptance of a replay of *workload*, whose attempts are those of *recorded*, or repeat them.

    *source* has the recorded attempt that each one repeats; without it, workload's turns are those of *recorded*.
    *measurer* runs a drafter on the recorded tokens.

    Raises OptionError for options out of range, and where a drafter is to be measured on a recording without text.
    """
    if source is None:
        source = source_attempts(recorded, workload)
    if is_measured(engine, options.acceptance):
        drafter = drafters()[options.platform.speculative_method]
        drafts = _measured(recorded, (drafter, engine.num_speculative_tokens), options, recording, measurer)
        if GrammarMode(options.policy.grammar) is GrammarMode.ACCEPT:
            drafts = drafts.under_grammar(forced_tokens(recorded, recording))
        _note_drafter(drafter, options, book)
        choice = _observed(drafts, engine, attempt_keys(workload, options.seed), source, book)
    elif engine.num_speculative_tokens and (tree := given_tree(options.platform)) is not None:
        choice = tree_acceptance(tree, options, book)
    else:
        choice = resolve_acceptance(options.acceptance, engine.num_speculative_tokens, book)
    choice = resolve_grammar(choice, (recorded, workload, source), options.policy, options.seed, recording, book)
    return resolve_policy(choice, options.policy, workload, options.seed, book)


def _measured(
    recorded: Workload, chosen: tuple[Drafter, int], options: ReplayOptions, recording: Recording, measurer: Measurer
) -> MeasuredDrafts:
    """What the drafter of *chosen* drafts at the depth beside it, and at those that the depth curve shows."""
    drafter, gamma = chosen
    store = recorded.tokens
    if store is None:
        raise ValueError("a drafter is measured on a workload without token ids: build it with keep_ids")
    hidden = store.hidden_output_tokens
    if hidden == recorded.labels.size:
        raise OptionError(
            f"--speculative-method {drafter.name}: the recording shows no output text to measure it on; "
            "declare its acceptance with --acceptance-length, --eps or --profile"
        )
    if hidden:
        recording.assumptions["output tokens without recorded content: counted as never drafted right"] = hidden
    if store.attempts_without_prompt:
        recording.assumptions["prompts without recorded content: nothing is drafted from them"] = (
            store.attempts_without_prompt
        )
    depths = (gamma, MAX_GAMMA) if drafter.cuts else (gamma, *SUFFIX_GAMMAS)
    return measurer(store, recorded.labels, recorded.offsets, drafter, options.drafters, depths)


def _observed(
    drafts: MeasuredDrafts, engine: EngineConfig, keys: U64, source: I64, book: ParameterBook
) -> AcceptanceChoice:
    """What the *drafts* of the recorded attempts say of attempts of these *keys*, which repeat those in *source*."""
    table = drafts.table(engine.num_speculative_tokens)
    eps = drafts.eps(engine.num_speculative_tokens)
    for label in SubClass:
        book.add(f"eps.{label.name}", float(eps[label]), Origin.MEASURED, "first drafts, over all positions")
    return AcceptanceChoice(
        model=drafts.acceptance(keys, source),
        table=table,
        pessimistic=table,
        optimistic=table,
        eps=eps,
        measured=True,
        depths=None if drafts.cuts else tuple(sorted(drafts.known)),
    )


def _note_drafter(drafter: Drafter, options: ReplayOptions, book: ParameterBook) -> None:
    given = options_of(drafter.options, options.drafters)
    for one in declared(drafter.options):
        book.add(one.key, getattr(given, one.field_name), Origin.DECLARED, "given or the drafter's default")
    how = "drafter run on the recorded token ids; a draft is accepted if it is the recorded token (temperature 0)"
    book.add("acceptance", f"measured: {drafter.name}", Origin.MEASURED, how)


def resolve_acceptance(options: AcceptanceOptions, gamma: int, book: ParameterBook) -> AcceptanceChoice:
    """The acceptance of the profile that *options* describe at *gamma*, each parameter recorded in *book*.

    Raises OptionError on values out of range and on options that exclude each other, TraceError for a profile that
    cannot be read.
    """
    try:
        profile = given_profile(options, gamma)
    except ValueError as error:
        raise OptionError(str(error)) from error
    book.add("acceptance", profile.name, _profile_origin(profile), "acceptance profile")
    book.add("kappa", profile.kappa.value, profile.kappa.origin, profile.kappa.source)
    for label, eps in profile.eps.items():
        book.add(f"eps.{label}", eps.value, eps.origin, f"{eps.source}; spread {eps.low:g} to {eps.high:g}")
    for label, rates in profile.conditional.items():
        shown = " ".join(f"{rate:.4g}" for rate in rates)
        book.add(f"acceptance_per_depth.{label}", shown, profile.eps[label].origin, "those before accepted")
    if profile.lag1 is not None and profile.lag1.value:
        book.add("lag1", profile.lag1.value, profile.lag1.origin, profile.lag1.source)
    if profile.clipped:
        book.add("eps_clipped", ", ".join(profile.clipped), Origin.DERIVED, "kappa (1 - rho) exceeded 1")
    return AcceptanceChoice(
        model=profile.model(Case.CENTRAL),
        table=profile.table(Case.CENTRAL),
        pessimistic=profile.table(Case.WORST),
        optimistic=profile.table(Case.BEST),
        eps=np.array(profile.eps_of()),
    )


def _profile_origin(profile: AcceptanceProfile) -> Origin:
    origins = {eps.origin for eps in profile.eps.values()}
    return Origin.MEASURED if origins == {Origin.MEASURED} else Origin.DECLARED


def given_profile(options: AcceptanceOptions, gamma: int) -> AcceptanceProfile:
    """The profile that *options* describe at *gamma*. Raises ValueError or OptionError, TraceError for a bad file."""
    rho = {
        name: value
        for name, value in (("S", options.rho_S), ("R", options.rho_R), ("F", options.rho_F))
        if value is not None
    }
    by_law = options.kappa is not None or bool(rho)
    given = (by_law, options.eps is not None, options.acceptance_length is not None, options.profile is not None)
    if sum(given) > 1:
        raise OptionError("--kappa/--rho-*, --eps, --acceptance-length and --profile exclude each other: give one")
    if options.profile is not None:
        return read_profile(Path(options.profile))
    if options.eps is not None:
        return _named(with_eps(DEFAULT_PROFILE, options.eps), "eps")
    if options.acceptance_length is not None and gamma:
        return _named(with_acceptance_length(DEFAULT_PROFILE, options.acceptance_length, gamma), "acceptance length")
    if by_law:
        kappa = DEFAULT_PROFILE.kappa.value if options.kappa is None else options.kappa
        declared = dict(zip(DEFAULT_PROFILE.eps, DEFAULT_PROFILE.rho_of(), strict=True))
        return _named(with_kappa_rho(DEFAULT_PROFILE, kappa, {**declared, **rho}), "kappa and rho")
    return DEFAULT_PROFILE


def _named(profile: AcceptanceProfile, what: str) -> AcceptanceProfile:
    return replace(profile, name=f"given {what}")
