"""Resolves the rules that cut rounds below the engine's draft depth."""

from __future__ import annotations

from dataclasses import replace

from scenarios.expected import AcceptanceChoice
from scenarios.options import OptionError
from scenarios.parameters import ParameterBook
from scenarios.specoptions import PolicyOptions
from simulator.acceptance.grammar import GrammarMode
from simulator.acceptance.threshold import ThresholdModel
from simulator.config import EngineConfig
from simulator.origin import Origin
from simulator.policies import ConfidenceStop, DraftPolicy, Strictest
from tokenclass.classes import SubClass


def engine_under(engine: EngineConfig, options: PolicyOptions) -> EngineConfig:
    """*engine* with the rules that it has to know of. Raises OptionError for depths beyond its own."""
    idles = options.grammar == GrammarMode.NO_DRAFT
    varies = options.gamma_by_class is not None or options.confidence_threshold is not None or idles
    try:
        return replace(
            engine,
            num_speculative_tokens_per_batch_size=options.gamma_by_batch_size,
            draft_depth_varies=engine.num_speculative_tokens > 0 and varies,
        )
    except ValueError as error:
        raise OptionError(str(error)) from error


def resolve_policy(choice: AcceptanceChoice, options: PolicyOptions, book: ParameterBook) -> AcceptanceChoice:
    """*choice* under the rules of *options*, each recorded in *book*.

    Raises OptionError for a confidence rule of a drafter that has no probabilities.
    """
    rules: list[DraftPolicy] = []
    if options.gamma_by_class is not None:
        rules.append(options.gamma_by_class)
        shown = ",".join(
            f"{label.name}={depth}" for label, depth in zip(SubClass, options.gamma_by_class.gamma, strict=True)
        )
        book.add("gamma_by_class", shown, Origin.DECLARED, "given: by the label of the token before the round")
    if options.confidence_threshold is not None:
        if choice.measured or not isinstance(choice.table, ThresholdModel):
            raise OptionError(
                f"--confidence-threshold {options.confidence_threshold}: this drafter has no probabilities to judge by"
            )
        rules.append(ConfidenceStop(choice.table, options.confidence_threshold))
        source = "given: a drafter that knows its own acceptance without error, an upper bound"
        book.add("confidence_threshold", options.confidence_threshold, Origin.DECLARED, source)
    if options.gamma_by_batch_size is not None:
        shown = ",".join(f"{low}-{high}:{gamma}" for low, high, gamma in options.gamma_by_batch_size.rows)
        book.add("num_speculative_tokens_per_batch_size", shown, Origin.DECLARED, "given: by running requests")
    if not rules:
        return choice
    return replace(choice, policy=rules[0] if len(rules) == 1 else Strictest(tuple(rules)))
