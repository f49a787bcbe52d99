"""Predictions for each draft depth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scenarios.acceptance.expected import (
    AcceptanceChoice,
    Expectation,
    expectation,
    mean_eps,
    replayed_attempts,
    replayed_outputs,
    under,
)
from scenarios.answer import GammaPoint
from scenarios.resolve.platform import Platform
from simulator import law, rng
from simulator.acceptance.base import AcceptanceModel, Outputs
from simulator.lawcosts import LawCosts, read_back
from simulator.metrics import gate_gpu_s, mean_batch
from simulator.policies import DraftPolicy
from simulator.replay import Replay
from simulator.workload import Workload

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

MAX_GAMMA = 16
"""Depths up to this one are compared."""
SUFFIX_GAMMAS = (1, 2, 3, 4, 6, 8, 12, 16)
"""Depths at which a drafter is measured whose outcome at one depth says nothing of another's."""
CURVE_TOKENS = 100_000
"""Output tokens that the depth curve is computed on; a larger trace is thinned evenly by attempts."""
BOOTSTRAP_DRAWS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """The fixed depths, and the replay's own setting, which a policy may cut."""

    points: list[GammaPoint]
    own: GammaPoint


def gamma_curve(
    workload: Workload, speculative: Replay, baseline: Replay, platform: Platform, choice: AcceptanceChoice
) -> Curve:
    """Predictions for fixed depths to MAX_GAMMA and for the replay's own, at the batch and context of *baseline*."""
    outputs, owner = thinned_outputs(workload, speculative, CURVE_TOKENS)
    predict = Predictor(
        outputs=outputs,
        owner=owner,
        platform=platform,
        choice=choice,
        batch=mean_batch(baseline),
        net=lambda relative_cost: net_saving(workload, speculative, baseline, relative_cost, platform.relative_price),
    )
    own = platform.engine.num_speculative_tokens
    depths = [gamma for gamma in sorted({*range(1, MAX_GAMMA + 1), own}) if has_depth(choice, gamma)]
    points = [predict.point(gamma) for gamma in depths]
    mine = next(point for point in points if point.gamma == own)
    return Curve(points=points, own=mine if choice.policy is None else predict.point(own, choice.policy))


def thinned_outputs(workload: Workload, replay: Replay, tokens: int) -> tuple[Outputs, I64]:
    """About *tokens* output tokens of *replay*, thinned evenly by outputs, and what each output is resampled with."""
    every = max(1, -(-int(replay.offsets[-1]) // tokens))
    return replayed_outputs(replay, every), _owners(workload, replayed_attempts(replay, every))


def has_depth(choice: AcceptanceChoice, gamma: int) -> bool:
    """Whether *choice* can say what a depth of *gamma* gives."""
    return choice.depths is None or gamma in choice.depths


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictor:
    """Predicts the outcome of draft depths over the outputs of a replay, without scheduling."""

    outputs: Outputs
    owner: I64
    """What each output is resampled with: its session, or its turn if there is one session."""
    platform: Platform
    choice: AcceptanceChoice
    batch: tuple[float, float]
    """Decoding sequences in a step, and context of each."""
    net: Callable[[float], float]
    """Saving of C_total at a decode cost relative to that without speculation."""

    def costs(self, gamma: int) -> LawCosts:
        """The law's constants at *gamma*."""
        return read_back(self.platform.cost, n_seqs=self.batch[0], context_tokens=self.batch[1], gamma=gamma)

    def relative_cost(self, gamma: int, policy: DraftPolicy | None) -> float:
        """c_net / c_T at *gamma* drafts a round, cut by *policy*."""
        return self._expected(self.choice.predicted, gamma, policy).cost_per_token(self.costs(gamma))

    def point(self, gamma: int, policy: DraftPolicy | None = None) -> GammaPoint:
        """The prediction for *gamma* drafts a round, cut by *policy*."""
        costs = self.costs(gamma)
        eps_bar = mean_eps(self.outputs.labels, self.choice.eps)
        depth, by_chain = self.choice.law_terms(gamma, costs)
        found = self._expected(self.choice.predicted, gamma, policy)
        ratio = found.cost_per_token(costs)
        if self.choice.measured:
            low, high = self._interval(found, costs, gamma)
        else:
            low, high = (
                self._expected(model, gamma, policy).cost_per_token(costs)
                for model in (self.choice.pessimistic, self.choice.optimistic)
            )
        return GammaPoint(
            gamma=gamma,
            law_tokens_per_round=law.tokens_per_round(eps_bar, depth),
            exact_tokens_per_round=found.tokens_per_round,
            law_decode_saving=law.saving(eps_bar, depth, by_chain.delta, by_chain.d, max(0.0, costs.o)),
            exact_decode_saving=1 - ratio,
            net_saving=self.net(ratio),
            net_saving_low=self.net(low),
            net_saving_high=self.net(high),
        )

    def _expected(self, model: AcceptanceModel, gamma: int, policy: DraftPolicy | None) -> Expectation:
        return expectation(under(model, policy), self.outputs, gamma)

    def _interval(self, found: Expectation, costs: LawCosts, gamma: int) -> tuple[float, float]:
        """Decode cost per token at the upper and lower end of its 95 % bootstrap interval over sessions."""
        size = int(self.owner.max(initial=0)) + 1
        work, tokens = (np.bincount(self.owner, column, size) for column in (found.work(costs), found.tokens))
        generator = rng.generator(0, "bootstrap", "depth", gamma)
        draws = generator.multinomial(size, np.full(size, 1 / size), BOOTSTRAP_DRAWS)
        emitted = draws @ tokens
        ratios: F64 = np.divide(draws @ work, emitted, out=np.ones(BOOTSTRAP_DRAWS), where=emitted > 0)
        low, high = np.percentile(ratios, [97.5, 2.5])
        return float(low), float(high)


def resampled_with(workload: Workload) -> I64:
    """What each attempt is resampled with: its session, or its turn if there is one session."""
    return workload.attempt_session if workload.n_sessions > 1 else workload.attempt_turn


def _owners(workload: Workload, attempts: I64) -> I64:
    return np.unique(resampled_with(workload)[attempts], return_inverse=True)[1].astype(np.int64)


def net_saving(
    workload: Workload, speculative: Replay, baseline: Replay, relative_decode_cost: float, relative_price: float
) -> float:
    """Saving of C_total when decode costs *relative_decode_cost* of the baseline's and the draft prefills too.

    The target's prefill, what it loads from host memory and a gate's cost are the baseline's. *relative_price* is that
    of a replica's second with speculation to one without.
    """
    decode = float(baseline.by_step.decode_gpu_s.sum())
    prefill = float(baseline.prefill_gpu_s.sum() + baseline.kv_load_s.sum())
    draft = float(speculative.draft_prefill_gpu_s.sum())
    gate = float(gate_gpu_s(baseline, workload).sum())
    spent = prefill + draft + decode * relative_decode_cost + gate
    return 1 - spent * relative_price / (prefill + decode + gate)
