"""What decoding costs when sequences that draft unequally deep share their steps."""

from __future__ import annotations

import numpy as np

from scenarios.acceptance.expected import Expectation, expectation, under
from scenarios.law.curve import Predictor
from simulator.acceptance.base import F64, AcceptanceModel, Outputs
from simulator.acceptance.rounds import chain_rounds
from simulator.acceptance.threshold import ThresholdModel
from simulator.exact import expect
from simulator.policies import DraftPolicy


def step_cost_per_token(predict: Predictor, gamma: int, policy: DraftPolicy | None) -> float:
    """Decode cost of a token relative to that without speculation, at *gamma* drafts cut by *policy*.

    Formula: T(b, drafts, passes) / T(b, 0, 0) / tokens a round, at the batch b and context of *predict*. A step takes
    the draft passes of the deepest of its b rounds, whose depths are taken as independent: E[max] is the sum over g of
    1 - P(depth < g)^b. Where none of them drafts it costs a plain step.
    """
    model = predict.choice.predicted
    found = expectation(under(model, policy), predict.outputs, gamma)
    depths = _depths(model, predict.outputs, gamma, policy)
    n_seqs, context_tokens = predict.batch
    cost = predict.platform.cost
    plain_s = float(cost.decode_s(n_seqs, 0.0, n_seqs * context_tokens, 0.0))
    below = np.cumsum(depths) / depths.sum() if depths.sum() else np.ones(len(depths))
    deeper = 1 - below[:-1] ** n_seqs
    verified = (float(found.drafted.sum()) + float(found.undrafted.sum())) / max(float(found.rounds.sum()), 1e-300)
    drafting = _drafting(found, n_seqs)
    if not verified or not drafting:
        return 1 / found.tokens_per_round
    passes = float(deeper.sum()) / drafting
    step_s = float(cost.decode_s(n_seqs, n_seqs * verified / drafting, n_seqs * context_tokens, passes))
    return (drafting * step_s / plain_s + 1 - drafting) / found.tokens_per_round


def _drafting(found: Expectation, n_seqs: float) -> float:
    """Share of steps in which a sequence at least verifies more than its own token."""
    rounds = float(found.rounds.sum())
    alone = min(1.0, float(found.drafting.sum()) / rounds) if rounds else 0.0
    return 1 - float((1 - alone) ** n_seqs)


def _depths(model: AcceptanceModel, outputs: Outputs, gamma: int, policy: DraftPolicy | None) -> F64:
    """Rounds by how many tokens they draft, 0 .. *gamma*."""
    limits = None if policy is None else policy.limits(outputs, gamma)
    if isinstance(model, ThresholdModel):
        start = expect(model, outputs, gamma, limits=limits).start
        depth = np.full(len(start), gamma) if limits is None else np.minimum(limits, gamma)
        idle = model.beside(outputs, gamma).idle
        depth = depth if idle is None else np.where(idle > 0, 0, depth)
        return np.bincount(depth, start, gamma + 1).astype(np.float64)
    drafted = chain_rounds(under(model, policy).potential(outputs, gamma), outputs.offsets).drafted
    return np.bincount(drafted, minlength=gamma + 1).astype(np.float64)
