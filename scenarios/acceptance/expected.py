"""Rounds expected over the outputs of a replay: computed from independent drafts, or counted where they are known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from scenarios.law.labelcounts import chosen_labels, label_counts
from simulator.acceptance.base import AcceptanceModel, ExactModel, Outputs
from simulator.acceptance.grammar import Constraint
from simulator.acceptance.rounds import chain_rounds
from simulator.acceptance.tally import tally
from simulator.acceptance.threshold import ThresholdModel
from simulator.exact import RoundsByLabel, expect
from simulator.lawcosts import LawCosts
from simulator.longcolumns import PART, LongColumn, let_go
from simulator.policies import DraftPolicy, PolicyAcceptance
from simulator.replay import Replay
from tokenclass.classes import N_SUBCLASSES

F64 = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptanceChoice:
    """Acceptance models: what the engine replays, and what the predictions beside it are made of."""

    model: AcceptanceModel
    """What is replayed at fixed depths: drawn from a profile, or known."""
    table: ExactModel
    """Drafts independent within a sub-class: what the exact expectation is of."""
    pessimistic: ExactModel
    optimistic: ExactModel
    """The table at both ends of the profile's spread; the table itself where acceptance is measured."""
    eps: F64
    """Mismatch probability by sub-class at depth 0, shape (N_SUBCLASSES,)."""
    measured: bool = False
    """Whether *model* is known outcomes of recorded tokens."""
    depths: tuple[int, ...] | None = None
    """Draft depths that *model* knows; None: all."""
    policy: DraftPolicy | None = None
    """What cuts rounds below the engine's depth."""
    constraint: Constraint | None = None
    """The grammar that the models stand under; they know the outputs of the recording alone."""
    by_label: ExactModel | None = None
    """What stands for *table* on outputs made up of other lengths; None: the table itself."""

    tree_depth: int | None = None
    """Most drafts that a round accepts, where they form a tree; None: all that it drafts."""

    def law_depth(self, gamma: int) -> int:
        """The depth by which the law reads a round of *gamma* drafts: of a tree its own."""
        return gamma if self.tree_depth is None else self.tree_depth

    def law_terms(self, gamma: int, costs: LawCosts) -> tuple[int, LawCosts]:
        """That depth, and the constants that spread the cost of the round over it."""
        depth = self.law_depth(gamma)
        return depth, costs.spread(gamma, depth)

    @property
    def replayed(self) -> AcceptanceModel:
        """What the engine runs: *model* under the policy."""
        return under(self.model, self.policy)

    @property
    def predicted(self) -> AcceptanceModel:
        """What depths are compared by: the known outcomes, else the table."""
        return self.model if self.measured else self.table


def under(model: AcceptanceModel, policy: DraftPolicy | None) -> AcceptanceModel:
    """*model* with its rounds cut by *policy*, if there is one."""
    return model if policy is None else PolicyAcceptance(model, policy)


def replayed_outputs(replay: Replay, every: int = 1) -> Outputs:
    """The outputs that ran to their end, as cut by the engine, or each *every*-th of them."""
    chosen = replayed_attempts(replay, every)
    labels, offsets = chosen_labels(replay.labels, replay.offsets, chosen)
    return Outputs(labels, offsets, replay.keys[chosen], replay.prompt_tokens[chosen])


def replayed_attempts(replay: Replay, every: int = 1) -> npt.NDArray[np.int64]:
    """Numbers of the attempts that `replayed_outputs` gives."""
    return np.flatnonzero(replay.done)[::every]


def mean_eps(labels: npt.NDArray[np.uint8], eps: F64) -> float:
    """The law's eps_bar: mean of *eps* (by sub-class) over *labels*."""
    counts = label_counts(labels)
    return float(counts @ eps / max(1, counts.sum()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """Rounds of the outputs of a replay, expected or counted; arrays have one entry an output."""

    rounds: F64
    drafting: F64
    """Rounds that verify a token beside the target's own."""
    drafted: F64
    """Tokens drafted."""
    undrafted: F64
    """Tokens verified beside drafts."""
    tokens: F64
    """Tokens that rounds emit."""
    by_label: RoundsByLabel
    """Sums over all outputs by sub-class."""

    @property
    def tokens_per_round(self) -> float:
        """Tokens over rounds; 1 without any round."""
        rounds = float(self.rounds.sum())
        return float(self.tokens.sum()) / rounds if rounds else 1.0

    def work(self, costs: LawCosts) -> F64:
        """Cost of each output's rounds relative to c_T: 1 a round, o where it drafts, delta + d a drafted token.

        A token verified without a draft costs delta.
        """
        work = self.rounds + costs.o * self.drafting + (costs.delta + costs.d) * self.drafted
        return work + costs.delta * self.undrafted if self.undrafted.any() else work

    def cost_per_token(self, costs: LawCosts) -> float:
        """c_net / c_T over all outputs; 1 without any token."""
        tokens = float(self.tokens.sum())
        return float(self.work(costs).sum()) / tokens if tokens else 1.0

    def cost_per_round(self, costs: LawCosts) -> float:
        """Mean cost of a round relative to c_T: what it really drafts, where rounds draft less than the depth."""
        return self.cost_per_token(costs) * self.tokens_per_round


def expectation(model: AcceptanceModel, outputs: Outputs, gamma: int) -> Expectation:
    """Rounds of *outputs*: expected if *model* has independent drafts, those of their keys otherwise.

    Computed in parts of about PART tokens so that memory stays bounded.
    """
    columns = {name: LongColumn(np.float64) for name in ("rounds", "drafting", "drafted", "undrafted", "tokens")}
    sums = {name: np.zeros(N_SUBCLASSES) for name in RoundsByLabel.__slots__}
    for outputs_of_part in _parts(outputs):
        part = _part(model, outputs_of_part, gamma)
        for name, column in columns.items():
            column.append(getattr(part, name))
        for name, total in sums.items():
            total += getattr(part.by_label, name)
        let_go(outputs.labels)
    arrays = {name: column.array() for name, column in columns.items()}
    return Expectation(**arrays, by_label=RoundsByLabel(**sums))


def _parts(outputs: Outputs) -> Iterator[Outputs]:
    starts = np.searchsorted(outputs.offsets, np.arange(0, outputs.offsets[-1], PART))
    for part in np.split(np.arange(len(outputs)), np.unique(starts)):
        if part.size:
            bounds = outputs.offsets[part[0] : part[-1] + 2]
            chosen = slice(part[0], part[-1] + 1)
            context = outputs.context_tokens
            yield Outputs(
                outputs.labels[bounds[0] : bounds[-1]],
                bounds - bounds[0],
                outputs.keys[chosen],
                None if context is None else context[chosen],
            )


def _part(model: AcceptanceModel, outputs: Outputs, gamma: int) -> Expectation:
    inner = model.model if isinstance(model, PolicyAcceptance) else model
    if isinstance(inner, ThresholdModel):
        limits = model.policy.limits(outputs, gamma) if isinstance(model, PolicyAcceptance) else None
        found = expect(inner, outputs, gamma, limits=limits)
        drafts = found.start * (gamma > 0 if limits is None else limits > 0)
        return Expectation(
            rounds=found.rounds,
            drafting=_sums(outputs.attempt, drafts, len(outputs)),
            drafted=found.drafted,
            undrafted=found.undrafted,
            tokens=found.tokens,
            by_label=found.by_label(outputs.labels, N_SUBCLASSES),
        )
    rounds = chain_rounds(model.potential(outputs, gamma), outputs.offsets)
    undrafted = np.zeros(len(rounds)) if rounds.undrafted is None else rounds.undrafted
    owner = np.repeat(np.arange(len(outputs)), np.diff(rounds.offsets))
    return Expectation(
        rounds=np.diff(rounds.offsets).astype(np.float64),
        drafting=_sums(owner, (rounds.drafted > 0) | (undrafted > 0), len(outputs)),
        drafted=_sums(owner, rounds.drafted, len(outputs)),
        undrafted=_sums(owner, undrafted, len(outputs)),
        tokens=np.maximum(np.diff(outputs.offsets) - 1, 0).astype(np.float64),
        by_label=tally(rounds, outputs, N_SUBCLASSES),
    )


def _sums(owner: npt.NDArray[np.int64], values: npt.NDArray[Any], count: int) -> F64:
    return np.bincount(owner, values, count).astype(np.float64)
