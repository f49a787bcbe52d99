"""Law, exact expectation and sampled replay side by side, over the whole output and by token class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scenarios.acceptance.expected import AcceptanceChoice, Expectation, mean_eps
from scenarios.answer import BreakEven, ClassRow, ComparisonRow, PredictionRow
from scenarios.law.labelcounts import first_label_counts, label_counts
from scenarios.resolve.platform import Platform
from simulator import law, predictions
from simulator.acceptance.base import Outputs
from simulator.lawcosts import LawCosts
from simulator.metrics import mean_batch
from simulator.replay import Replay
from tokenclass.classes import CLASS_OF_SUBCLASS, PositionClass, SubClass

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """Rounds by independent drafts and, where the outcomes of the drafts are known, as they are."""

    exact: Expectation
    known: Expectation | None

    @property
    def best(self) -> Expectation:
        """The known rounds, else the expected ones."""
        return self.known or self.exact

    def exact_cost_per_token(self, costs: LawCosts) -> float:
        """c_net / c_T by expectation. A drafter that often drafts nothing is charged per round what it did draft."""
        if self.known is None:
            return self.exact.cost_per_token(costs)
        per_round = self.known.cost_per_round(costs)
        return per_round / self.exact.tokens_per_round


def comparison(
    outputs: Outputs,
    speculative: Replay,
    baseline: Replay,
    predicted: Predicted,
    costs: LawCosts,
    choice: AcceptanceChoice,
    gamma: int,
    recorded_tokens_per_round: float | None,
) -> list[ComparisonRow]:
    """Tokens per round and decode saving by the law, by expectation over *outputs*, as replayed, and as known.

    *recorded_tokens_per_round* is the recording's own figure, shown where the drafter was not measured.
    """
    step = speculative.by_step
    rounds = int(step.rounds.sum())
    sampled = float(step.emitted_by_subclass.sum()) / rounds if rounds else None
    exact, known = predicted.exact, predicted.known
    eps_bar = mean_eps(outputs.labels, choice.eps)
    depth, by_chain = choice.law_terms(gamma, costs)
    by_law = law.tokens_per_round(eps_bar, depth)
    decode = float(step.decode_gpu_s.sum()) / float(baseline.by_step.decode_gpu_s.sum() or 1.0)
    return [
        ComparisonRow(
            quantity="tokens per round",
            law=by_law,
            exact=exact.tokens_per_round,
            sampled=sampled,
            measured=known.tokens_per_round if known is not None else recorded_tokens_per_round,
            reason=_why_they_part(predicted, by_law, speculative, choice),
        ),
        ComparisonRow(
            quantity="decode saving s",
            law=law.saving(eps_bar, depth, by_chain.delta, by_chain.d, max(0.0, costs.o)),
            exact=1 - predicted.exact_cost_per_token(costs),
            sampled=1 - decode,
            measured=None if known is None else 1 - known.cost_per_token(costs),
            reason=_why_savings_part(predicted, costs, speculative, gamma),
        ),
    ]


def _why_they_part(predicted: Predicted, by_law: float, speculative: Replay, choice: AcceptanceChoice) -> str:
    exact, known = predicted.exact, predicted.known
    gap = (by_law / exact.tokens_per_round - 1) * 100
    if choice.tree_depth is not None:
        parts = [f"law {gap:+.1f} % of exact: it takes the acceptance of the tree's first level at all depths"]
    elif known is None:
        parts = [f"law {gap:+.1f} % of exact: rounds dwell where acceptance is poor and outputs end inside a round"]
    else:
        parts = [f"law {gap:+.1f} % of exact: it takes the mean over positions, and the same at all depths"]
    if choice.policy is not None:
        parts.append("the law knows one depth for all, exact follows the policy")
    rounds = speculative.by_step.rounds[speculative.done]
    if known is None:
        parts.append(f"sampled {_deviation(exact, rounds)}")
    else:
        gap = (exact.tokens_per_round / known.tokens_per_round - 1) * 100
        parts.append(f"exact {gap:+.1f} % of measured: it takes drafts as independent within a sub-class and depth")
        cut = int(rounds.sum() - known.rounds.sum())
        parts.append("the replay ran the measured rounds" + (f", {cut:+,} by the token budget" if cut else ""))
    return "; ".join(parts)


def _why_savings_part(predicted: Predicted, costs: LawCosts, speculative: Replay, gamma: int) -> str:
    reason = (
        f"law and exact take the batch without speculation ({costs.n_seqs:.1f} sequences a step); with it "
        f"requests end sooner and share steps with fewer ({mean_batch(speculative)[0]:.1f})"
    )
    known = predicted.known
    if known is None or not known.rounds.sum():
        return reason
    drafted = float(known.drafted.sum() / known.rounds.sum())
    return f"{reason}; the law charges {gamma} drafts to each round, this drafter drafted {drafted:.2f}"


def _deviation(expected: Expectation, rounds: I64) -> str:
    """How far the sampled rounds are from the expected ones, in standard errors."""
    rest = rounds - expected.rounds
    error = float(np.sqrt(np.sum(rest**2)))
    return f"within {abs(float(rest.sum())) / error:.1f} standard errors of exact" if error else "equal to exact"


def class_rows(
    outputs: Outputs,
    speculative: Replay,
    baseline: Replay,
    predicted: Predicted,
    choice: AcceptanceChoice,
    platform: Platform,
    gamma: int,
) -> list[ClassRow]:
    """A row for each class that occurs, then for each sub-class of S."""
    first = first_label_counts(outputs)
    groups = [(label.name, [sub for sub in SubClass if CLASS_OF_SUBCLASS[sub] is label]) for label in PositionClass]
    groups += [(f"S.{sub.name}", [sub]) for sub in SubClass if CLASS_OF_SUBCLASS[sub] is PositionClass.S]
    counts = label_counts(outputs.labels)
    total = max(1, int(counts.sum()))
    step, base = speculative.by_step, baseline.by_step
    rows = []
    for name, members in groups:
        index = np.array(members)
        tokens = int(counts[index].sum())
        if not tokens:
            continue
        eps = float(counts[index] @ choice.eps[index] / tokens)
        emitted = int(step.emitted_by_subclass[index].sum())
        drafted = int(step.drafted_by_subclass[index].sum())
        by_label = predicted.best.by_label
        share = float(by_label.share[index].sum())
        started = float(by_label.started[index].sum())
        paid = float(step.decode_gpu_s_by_subclass[index].sum())
        base_emitted = max(1, int(base.emitted_by_subclass[index].sum()))
        rows.append(
            ClassRow(
                label=name,
                tokens=tokens,
                share=tokens / total,
                eps=eps,
                tau_law=law.tau(eps, choice.law_depth(gamma)),
                tau=float(by_label.accepted_from[index].sum()) / started if started else None,
                rounds=started,
                tokens_per_round_exact=(tokens - float(first[index].sum())) / share if share else None,
                tokens_per_round_sampled=_sampled_tokens_per_round(step.round_share_by_subclass[index], emitted),
                acceptance_rate=int(step.accepted_by_subclass[index].sum()) / drafted if drafted else None,
                decode_s_per_token=paid / max(1, emitted),
                decode_s_per_token_baseline=float(base.decode_gpu_s_by_subclass[index].sum()) / base_emitted,
                usd=paid * platform.gpu_usd_per_s,
            )
        )
    return rows


def _sampled_tokens_per_round(shares: F64, emitted: int) -> float | None:
    total = float(shares.sum())
    return emitted / total if total else None


def break_even(outputs: Outputs, costs: LawCosts, choice: AcceptanceChoice, gamma: int) -> BreakEven:
    """The law's break-even at the costs of this replay, beside where its traffic stands."""
    o = max(0.0, costs.o)
    gamma, costs = choice.law_terms(gamma, costs)
    counts = label_counts(outputs.labels)
    schema = sum(int(counts[label]) for label in SubClass if CLASS_OF_SUBCLASS[label] is PositionClass.S)
    return BreakEven(
        eps_bar=mean_eps(outputs.labels, choice.eps),
        w_S=schema / max(1, int(counts.sum())),
        gamma=gamma,
        eps_star_first_order=law.eps_star_first_order(gamma, costs.delta, costs.d, o),
        eps_star_exact=law.eps_star_exact(gamma, costs.delta, costs.d, o),
        c_T_s=costs.c_T_s,
        delta=costs.delta,
        d=costs.d,
        o=costs.o,
        n_seqs=costs.n_seqs,
        context_tokens=costs.context_tokens,
    )


def rulings(classes: list[ClassRow], net_saving: float) -> list[PredictionRow]:
    """P1, R1 and R2 by the class table of a replay; R3 and R4 need a real engine's costs and outputs."""
    tau = {row.label: row.tau for row in classes}
    w_S = next((row.share for row in classes if row.label == "S"), 0.0)
    found = [
        predictions.p1(tau.get("S"), tau.get("R"), tau.get("F")),
        predictions.r1(tau.get("S"), tau.get("F")),
        predictions.r2(w_S, net_saving),
    ]
    return [PredictionRow(name=one.name, ruling=one.ruling.value, reason=one.reason) for one in found]
