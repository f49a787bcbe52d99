"""Where speculation must stay off, with the numbers: schema share, precision, network, batch."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np

from scenarios.acceptance.expected import AcceptanceChoice, Expectation, expectation, replayed_outputs, under
from scenarios.law.curve import CURVE_TOKENS
from scenarios.law.labelcounts import first_label_counts, label_counts
from scenarios.options.parameters import ParameterBook
from scenarios.options.replay import PlatformOptions
from scenarios.resolve.hardwarechoice import DraftPlacement, resolve_hardware
from scenarios.resolve.platform import Platform
from simulator.acceptance.base import Outputs
from simulator.lawcosts import LawCosts, read_back
from simulator.metrics import mean_batch
from simulator.replay import Replay
from tokenclass.classes import CLASS_OF_SUBCLASS, PositionClass, SubClass

SHARE_RULE = "w_S on the wrong side of w_S*"
MOST_SEQUENCES = 4096
"""Batches up to this size are looked at."""
_SCHEMA = np.array([CLASS_OF_SUBCLASS[label] is PositionClass.S for label in SubClass])
_FULL_PRECISION = ("bf16", "fp16", "fp32")


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """One rule: where this traffic and platform stand, and where the limit is."""

    rule: str
    stay_off: bool | None
    """Whether the rule says off here; None: it does not apply."""
    figure: float | None
    limit: float | None
    unit: str
    reason: str


def limits(
    baseline: Replay, platform: Platform, options: PlatformOptions, choice: AcceptanceChoice, gamma: int
) -> list[Limit]:
    """All rules on the outputs of *baseline*, at its own batch and context."""
    outputs = replayed_outputs(baseline, max(1, -(-int(baseline.offsets[-1]) // CURVE_TOKENS)))
    expected = expectation(under(choice.table, choice.policy), outputs, gamma)
    batch, context = mean_batch(baseline)
    costs = read_back(platform.cost, n_seqs=batch, context_tokens=context, gamma=gamma)
    return [
        schema_share(outputs, expected, expected.cost_per_round(costs)),
        _precision(options),
        _network(options, platform, costs, expected, gamma),
        _batch(platform, expected, batch, context, gamma),
    ]


def schema_share(outputs: Outputs, expected: Expectation, round_cost: float) -> Limit:
    """The schema share at which a round pays, with rounds as these outputs' own spans give them.

    Formula: rounds a token are w_S / A_S + (1 - w_S) / A_n with A the tokens per round spent on schema and on the rest;
    the break-even is where they equal 1 / *round_cost*. Spans keep their lengths; only their weights move.
    """
    counts = label_counts(outputs.labels) - first_label_counts(outputs)
    schema, rest = int(counts[_SCHEMA].sum()), int(counts[~_SCHEMA].sum())
    w_S = schema / max(1, schema + rest)
    if not schema or not rest:
        alone = "schema" if schema else "prose and reasoning"
        off = expected.tokens_per_round < round_cost
        reason = f"all tokens are {alone}: {expected.tokens_per_round:.2f} tokens a round at {round_cost:.2f} c_T"
        return Limit(rule=SHARE_RULE, stay_off=off, figure=w_S, limit=None, unit="share", reason=reason)
    per_schema = float(expected.by_label.share[_SCHEMA].sum()) / schema
    per_rest = float(expected.by_label.share[~_SCHEMA].sum()) / rest
    star = None if per_schema == per_rest else (1 / round_cost - per_rest) / (per_schema - per_rest)
    if star is not None and not 0 <= star <= 1:
        star = None
    mixed = w_S * per_schema + (1 - w_S) * per_rest
    return Limit(
        rule=SHARE_RULE,
        stay_off=mixed * round_cost > 1,
        figure=w_S,
        limit=star,
        unit="share",
        reason=f"{1 / per_schema:.2f} tokens a round in schema, {1 / per_rest:.2f} elsewhere, a round costs "
        f"{round_cost:.2f} c_T: speculation pays {_where(per_schema * round_cost, per_rest * round_cost, star)}",
    )


def _where(schema_cost: float, rest_cost: float, star: float | None) -> str:
    """At which schema shares speculation pays, given the cost of a token of each kind relative to c_T."""
    if star is None:
        return "at every share" if schema_cost < 1 else "at no share"
    if schema_cost < rest_cost:
        return f"above w_S* = {star:.3f}"
    return f"below w_S* = {star:.3f}: schema is the harder part of these outputs"


def _precision(options: PlatformOptions) -> Limit:
    """A quantized mixture of experts with a draft of another precision: outside what the law covers."""
    hardware = resolve_hardware(options, ParameterBook())
    target, draft = hardware.target, hardware.draft
    rule = "quantized MoE target, draft of another precision"
    if draft is None or target.experts is None or target.precision in _FULL_PRECISION:
        kind = "dense" if target.experts is None else f"MoE in {target.precision}"
        reason = f"target is {kind}" + ("" if draft is not None else ", no draft model")
        return Limit(rule=rule, stay_off=None, figure=None, limit=None, unit="", reason=reason)
    theirs = getattr(draft, "precision", "unknown")
    return Limit(
        rule=rule,
        stay_off=theirs != target.precision,
        figure=None,
        limit=None,
        unit="",
        reason=f"{target.name} has {target.experts.count} experts in {target.precision}, the draft is in {theirs}",
    )


def _network(options: PlatformOptions, platform: Platform, costs: LawCosts, expected: Expectation, gamma: int) -> Limit:
    """The round trip a round that a draft across a network may take before it loses."""
    local = expected.cost_per_round(
        read_back(platform.cost, n_seqs=costs.n_seqs, context_tokens=costs.context_tokens, gamma=gamma)
    )
    tokens_per_round = expected.tokens_per_round
    remote = options.draft_placement != DraftPlacement.LOCAL.value
    rtt_ms = options.rtt_ms if remote else None
    room_ms = (tokens_per_round - local) * costs.c_T_s * 1e3 + (rtt_ms or 0.0)
    reason = f"a round gains {tokens_per_round:.2f} c_T and costs {local:.2f}; the rest is room for one round trip"
    if not remote:
        reason += "; the draft is local, so this is the network that it could bear"
    return Limit(
        rule="draft across a network",
        stay_off=None if rtt_ms is None else rtt_ms > room_ms,
        figure=rtt_ms,
        limit=max(0.0, room_ms),
        unit="ms of round trip",
        reason=reason,
    )


def _batch(platform: Platform, expected: Expectation, batch: float, context: float, gamma: int) -> Limit:
    """The smallest number of decoding sequences at which the saving is negative."""

    def saving(n_seqs: float) -> float:
        costs = read_back(platform.cost, n_seqs=n_seqs, context_tokens=context, gamma=gamma)
        return 1 - expected.cost_per_token(costs)

    star = _first_negative(saving)
    here = saving(batch)
    if star is None:
        shown = f"never up to b = {MOST_SEQUENCES:,}"
    else:
        shown = "at every batch" if star == 1 else f"from b = {star} on"
    return Limit(
        rule="batch at which s turns negative",
        stay_off=here < 0,
        figure=batch,
        limit=None if star is None else float(star),
        unit="sequences",
        reason=f"s is {here:+.3f} at this batch and {context:,.0f} tokens of context; it is negative {shown}",
    )


def _first_negative(saving: Callable[[float], float]) -> int | None:
    """The smallest batch with a negative saving, the sign taken to change once between powers of two."""
    if saving(1) < 0:
        return 1
    low, high = 1, 2
    while high <= MOST_SEQUENCES and saving(high) >= 0:
        low, high = high, 2 * high
    if high > MOST_SEQUENCES:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if saving(middle) >= 0 else (low, middle)
    return high


def stay_off(found: list[Limit]) -> list[str]:
    """Warnings by the rules that say off here."""
    return [f"speculation should stay off by the rule '{one.rule}': {one.reason}" for one in found if one.stay_off]
