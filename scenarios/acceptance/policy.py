"""Resolves the rules that cut rounds below the engine's draft depth."""

from __future__ import annotations

import difflib
from dataclasses import replace

import numpy as np

from scenarios.acceptance.expected import AcceptanceChoice
from scenarios.options.drafting import PolicyOptions
from scenarios.options.parameters import ParameterBook
from scenarios.options.replay import OptionError
from simulator.acceptance.grammar import GrammarMode
from simulator.acceptance.recorded import Attempts
from simulator.acceptance.threshold import ThresholdModel
from simulator.callspans import UNKNOWN_TOOL, call_spans, tool_before
from simulator.config import EngineConfig
from simulator.origin import Origin
from simulator.policies import ConfidenceStop, DraftPolicy, GammaByTool, Strictest
from simulator.replay import attempt_keys
from simulator.workload import Workload
from tokenclass.classes import SubClass
from traces.safetext import safe_line


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


def resolve_policy(
    choice: AcceptanceChoice, options: PolicyOptions, workload: Workload | None, seed: int, book: ParameterBook
) -> AcceptanceChoice:
    """*choice* under the rules of *options* for *workload*, if it is known yet, each recorded in *book*.

    Raises OptionError for a confidence rule of a drafter that has no probabilities, and for a depth of a tool that is
    never called.
    """
    rules: list[DraftPolicy] = []
    if options.gamma_by_class is not None:
        rules.append(_by_tool(options.gamma_by_class, options, workload, seed, book))
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


def _by_tool(
    elsewhere: DraftPolicy, options: PolicyOptions, workload: Workload | None, seed: int, book: ParameterBook
) -> DraftPolicy:
    """*elsewhere* with the depths by tool of *options*."""
    if not options.gamma_by_tool:
        return elsewhere
    if workload is None:
        raise OptionError("--gamma call:TOOL: the traffic's calls are not known here; give depths by class")
    names = () if workload.tool_runs is None else workload.tool_runs.names
    by_number = np.full(len(names) + 1, -1, dtype=np.int16)  # the last one stands for UNKNOWN_TOOL
    for name, depth in options.gamma_by_tool:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1) or sorted(names)[:5]
            shown = safe_line(" or ".join(near))
            known = f"did you mean {shown}?" if near else "no tool that was called is known by name"
            raise OptionError(f"--gamma call:{name}: no call of {name!r} is in this traffic; {known}")
        by_number[names.index(name)] = depth
    spans = call_spans(workload)
    known_calls = int((spans.tool != UNKNOWN_TOOL).sum())
    depths = ",".join(f"{name}={depth}" for name, depth in options.gamma_by_tool)
    source = f"given: once the tool's name is written; {known_calls} of {spans.tool.size} calls are known by their tool"
    book.add("gamma_by_tool", depths, Origin.DECLARED, source)
    attempts = Attempts(attempt_keys(workload, seed), workload.offsets)
    return GammaByTool(elsewhere, attempts, by_number[tool_before(workload, spans)])
