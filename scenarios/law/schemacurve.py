"""How the decode saving moves with the share of schema, on a traffic's own spans: what a break-even is read from."""

from __future__ import annotations

import msgspec

from scenarios.acceptance.expected import AcceptanceChoice, expectation, under
from scenarios.law.breakeven import BREAK_EVEN_TOKENS, MOST_STRETCH, BreakEvens, break_evens
from scenarios.law.curve import thinned_outputs
from scenarios.law.stretch import schema_share, stretched
from scenarios.resolve.platform import Platform
from simulator.lawcosts import read_back
from simulator.metrics import mean_batch
from simulator.policies import by_labels_alone
from simulator.replay import Replay
from simulator.workload import Workload

STRETCHES = (0.0, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0, 16.0, MOST_STRETCH)
"""Factors by which schema spans are stretched, from none at all to next to nothing else; 1 is the traffic as it is."""


class SchemaPoint(msgspec.Struct, frozen=True, kw_only=True):
    """The traffic with all schema spans stretched alike."""

    stretch: float
    w_S: float
    tokens_per_round: float
    """By exact expectation."""
    decode_saving: float


class SchemaCurve(msgspec.Struct, frozen=True, kw_only=True):
    """Decode saving against the share of schema, at the costs and the depth of one replay."""

    round_cost_over_c_T: float
    """What a round costs: less than 1 + o + gamma (delta + d) where rounds draft less than gamma."""
    points: list[SchemaPoint]
    break_even: BreakEvens


def schema_curve(
    workload: Workload, speculative: Replay, baseline: Replay, platform: Platform, choice: AcceptanceChoice
) -> SchemaCurve:
    """The curve of *speculative*, at the batch and context of *baseline*; outputs are thinned to bounded work.

    A traffic without schema has nothing to stretch: its curve has the one point at 0.
    """
    gamma = platform.engine.num_speculative_tokens
    outputs, _ = thinned_outputs(workload, speculative, BREAK_EVEN_TOKENS)
    batch, context = mean_batch(baseline)
    costs = read_back(platform.cost, n_seqs=batch, context_tokens=context, gamma=gamma)
    paid = expectation(choice.replayed if choice.measured else under(choice.table, choice.policy), outputs, gamma)
    table = under(choice.by_label or choice.table, by_labels_alone(choice.policy))
    per_round = paid.cost_per_round(costs)
    points = []
    for factor in STRETCHES if schema_share(outputs.labels) else (1.0,):
        moved = stretched(outputs, factor)
        if not len(moved.labels):
            continue
        found = expectation(table, moved, gamma).tokens_per_round
        points.append(
            SchemaPoint(
                stretch=factor,
                w_S=schema_share(moved.labels),
                tokens_per_round=found,
                decode_saving=1 - per_round / found,
            )
        )
    return SchemaCurve(
        round_cost_over_c_T=per_round,
        points=points,
        break_even=break_evens(outputs, choice, costs, gamma, per_round),
    )
