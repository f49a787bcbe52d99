"""Where theory and engine must meet: the law's saving, the exact expectation, a turn's cost, the cost constants."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import pytest

from simulator import law
from simulator.acceptance.base import Outputs, Potential
from simulator.acceptance.table import TableAcceptance, from_eps
from simulator.config import EngineConfig, SpeculativeMethod
from simulator.cost import CostModel, DeclaredCost, Efficiency, Number, PrefillWork, RooflineCost, StepCost
from simulator.exact import expect
from simulator.hardware import gpu_named, model_named
from simulator.lawcosts import read_back
from simulator.prefix import BlockPaths
from simulator.replay import Replay, ReplayConfig, run
from simulator.resample import resample
from simulator.sessions import LoadConfig
from simulator.workload import Workload
from tests.simulator.cases import Coin, Session, Turn, build, single_turns

C_T_S = 0.02
BLOCK = 16


def _config(
    gamma: int, cost: CostModel, acceptance: object, *, caching: bool = True, concurrency: int = 1, budget: int = 8192
) -> ReplayConfig:
    engine = EngineConfig(
        max_model_len=1_000_000,
        num_gpu_blocks=200_000,
        block_size=BLOCK,
        enable_prefix_caching=caching,
        max_num_batched_tokens=budget,
        num_speculative_tokens=gamma,
        speculative_method=SpeculativeMethod.MODEL_FREE if gamma else SpeculativeMethod.NONE,
    )
    return ReplayConfig(
        engine=engine,
        cost=cost,
        acceptance=acceptance if gamma else None,  # type: ignore[arg-type]
        load=LoadConfig(max_concurrency=concurrency),
    )


def _saving(replay: Replay) -> float:
    """Measured saving: decode seconds per token emitted in rounds against c_T."""
    tokens = int(replay.by_step.emitted_by_subclass.sum())
    return 1 - float(replay.by_step.decode_gpu_s.sum()) / tokens / C_T_S


@pytest.mark.parametrize("gamma", [1, 4, 8, 16])
@pytest.mark.parametrize("eps", [0.1, 0.5])
def test_independent_acceptance_saves_what_the_law_says(gamma: int, eps: float) -> None:
    delta, d, o = 0.01, 0.12, 0.05
    replay = run(
        single_turns([1], [200_000]),
        _config(gamma, DeclaredCost(c_T_s=C_T_S, delta=delta, d=d, overhead=o), from_eps([eps] * 8)),
    )
    rounds = int(replay.by_step.rounds.sum())
    depth = np.arange(gamma + 1)
    chances = (1 - eps) ** depth * np.where(depth < gamma, eps, 1.0)
    tau = float((chances * depth).sum())
    spread = float(np.sqrt((chances * (depth - tau) ** 2).sum() / rounds))
    expected = law.saving(eps, gamma, delta, d, o)
    slope = (1 - expected) / (tau + 1)
    assert abs(_saving(replay) - expected) < 3.5 * spread * slope
    assert 3.5 * spread * slope < 0.02 * (1 - expected)


@dataclass(frozen=True)
class Pattern:
    """Rounds accept the numbers of *counts* in turn, over and over, from the second token on."""

    counts: tuple[int, ...]

    def potential(self, outputs: Outputs, gamma: int) -> Potential:
        starts = np.cumsum([0, *(count + 1 for count in self.counts)])
        place = np.maximum(outputs.position - 1, 0) % starts[-1]
        table = np.zeros(starts[-1], np.int64)
        table[starts[:-1]] = self.counts
        accepted = np.minimum(table[place], outputs.left - 1)
        return Potential(accepted.astype(np.int16), np.full(len(accepted), gamma, np.int16))


@pytest.mark.parametrize(
    ("gamma", "eps", "counts"),
    [
        (2, 0.5, (0, 0, 1, 2)),
        (3, 0.5, (0, 0, 0, 0, 1, 1, 2, 3)),
        (2, 0.25, (0,) * 4 + (1,) * 3 + (2,) * 9),
        (4, 0.0, (4,)),
        (4, 1.0, (0,)),
    ],
)
def test_acceptance_replaced_by_its_expectation_saves_the_law_to_1e_9(
    gamma: int, eps: float, counts: tuple[int, ...]
) -> None:
    delta, d, o = 0.0036, 0.186, 0.087
    tokens = 1 + 50 * (sum(counts) + len(counts))
    cost = DeclaredCost(c_T_s=C_T_S, delta=delta, d=d, overhead=o)
    replay = run(single_turns([10], [tokens]), _config(gamma, cost, Pattern(counts)))
    assert replay.by_step.accepted_tokens.sum() / replay.by_step.rounds.sum() == pytest.approx(
        law.tau(eps, gamma), abs=1e-12
    )
    assert _saving(replay) == pytest.approx(law.saving(eps, gamma, delta, d, o), abs=1e-9)


def _spans(count: int, span: int) -> Workload:
    """Outputs whose label changes every *span* tokens: S, R, S, F, ..."""
    tokens = 1 + 24 * span
    labels = np.tile(np.array([0, 6, 0, 7], np.uint8).repeat(span), 7)[:tokens]
    return dataclasses.replace(single_turns([4] * count, [tokens] * count), labels=np.tile(labels, count))


@pytest.mark.parametrize("span", [1, 8, 64])
@pytest.mark.parametrize("concurrency", [1, 16])
def test_spans_give_the_exact_expectation_and_not_the_mean_field(span: int, concurrency: int) -> None:
    gamma = 8
    model = from_eps([0.05] * 6 + [0.35, 0.6])
    count = 12_000 // span
    work = _spans(count, span)
    replay = run(work, _config(gamma, DeclaredCost(c_T_s=C_T_S), model, concurrency=concurrency))
    exact = expect(model, Outputs(work.labels, work.offsets, np.zeros(count, np.uint64)), gamma)
    rounds = replay.by_step.rounds
    error = rounds.std(ddof=1) / np.sqrt(count)
    assert abs(rounds.mean() - exact.rounds.mean()) < 3.5 * error
    share = np.bincount(work.labels, minlength=8) / work.labels.size
    mean_field = law.tokens_per_round(float(share @ (1 - model.table[:, 0])), gamma)
    if span == 64:
        measured = float((work.output_tokens - 1).sum() / rounds.sum())
        assert measured < 0.95 * mean_field
        limit = law.span_limit_tokens_per_round([0.5, 0.25, 0.25], [0.05, 0.35, 0.6], gamma)
        assert measured == pytest.approx(limit, rel=0.05)


def test_acceptance_by_depth_gives_the_exact_expectation() -> None:
    table = np.tile(np.array([0.9, 0.7, 0.4, 0.2]), (8, 1))
    table[7] = [0.3, 0.9, 0.9, 0.9]
    model = TableAcceptance(table)
    work = _spans(3000, 4)
    replay = run(work, _config(6, DeclaredCost(c_T_s=C_T_S), model))
    exact = expect(model, Outputs(work.labels, work.offsets, np.zeros(3000, np.uint64)), 6)
    measured = replay.by_step.accepted_per_pos
    assert (np.abs(measured - exact.accepted_per_pos) < 4 * np.sqrt(exact.accepted_per_pos)).all()


def test_without_speculation_rounds_are_tokens_and_nothing_is_drafted() -> None:
    lengths = [1, 2, 50, 300]
    replay = run(single_turns([7, 8, 9, 10], lengths), _config(0, DeclaredCost(c_T_s=C_T_S), None, concurrency=4))
    np.testing.assert_array_equal(replay.by_step.rounds, np.array(lengths) - 1)
    assert not replay.by_step.drafts.any()
    assert not replay.by_step.drafted_by_subclass.any()
    assert replay.by_step.accepted_per_pos.size == 0


PREFILL_S = 3e-4


@pytest.mark.parametrize(("gamma", "counts", "eps"), [(0, (0,), 1.0), (2, (0, 0, 1, 2), 0.5)])
def test_one_draw_without_cache_costs_prefill_and_decode(gamma: int, counts: tuple[int, ...], eps: float) -> None:
    """C_total = C_pre + (c_net / c_1) C_dec = busy seconds, turn by turn."""
    prompts, lengths = [100, 333, 5000], [1 + 7 * 3, 1 + 7 * 10, 1 + 7 * 40]
    delta, d = 0.01, 0.12
    cost = DeclaredCost(c_T_s=C_T_S, delta=delta, d=d, prefill_s_per_token=PREFILL_S)
    replay = run(single_turns(prompts, lengths), _config(gamma, cost, Pattern(counts), caching=False))
    paid_s = replay.prefill_gpu_s + replay.by_step.decode_gpu_s
    ratio = law.c_net_over_c_T(eps, gamma, delta, d) if gamma else 1.0
    for turn, (prompt, length) in enumerate(zip(prompts, lengths, strict=True)):
        expected = law.C_total(1, 0, 0, prompt * PREFILL_S, (length - 1) * C_T_S, ratio)
        assert paid_s[turn] == pytest.approx(expected, rel=1e-9)
        assert replay.finish_s[turn] - replay.arrival_s[turn] == pytest.approx(expected, rel=1e-9)
    assert paid_s.sum() == pytest.approx(replay.busy_s, rel=1e-9)
    assert replay.busy_s == pytest.approx(replay.duration_s, rel=1e-9)


def test_two_draws_with_certain_hits_cost_one_prefill_and_two_decodes() -> None:
    """The second draw computes the one token that must be computed to sample: that is all that a hit costs."""
    prompt = tuple(range(10 * BLOCK + 1))
    output = tuple(range(900, 960))
    cost = DeclaredCost(c_T_s=C_T_S, prefill_s_per_token=PREFILL_S)
    once, twice = (
        run(build([Session(turns=(Turn(prompt=prompt, outputs=outputs, parent=None),))], BLOCK), _config(0, cost, None))
        for outputs in ((output,), (output, output))
    )
    C_pre, C_dec = float(once.prefill_gpu_s.sum()), float(once.by_step.decode_gpu_s.sum())
    assert twice.prefill_gpu_s.sum() == pytest.approx(C_pre + PREFILL_S, rel=1e-9)
    assert twice.by_step.decode_gpu_s.sum() == pytest.approx(2 * C_dec, rel=1e-9)
    h = float(twice.hit_tokens.sum() / twice.prompt_tokens.sum())
    assert twice.busy_s == pytest.approx(law.C_total(2, h, 0.0, C_pre, C_dec, 1.0), rel=1e-9)


def test_resampling_with_certain_hits_costs_one_prefill_a_turn() -> None:
    count, nu = 400, 2.0
    work = single_turns([4 * BLOCK + 1] * count, [30] * count)
    paths = [np.arange(4 * turn, 4 * turn + 4, dtype=np.int32) for turn in range(count)]
    work = resample(dataclasses.replace(work, paths=BlockPaths(paths, 4 * count)), nu, seed=5)
    draws = work.n_attempts
    replay = run(work, _config(0, DeclaredCost(c_T_s=C_T_S, prefill_s_per_token=PREFILL_S), None))
    assert draws / count == pytest.approx(nu, abs=3.5 * np.sqrt(nu * (nu - 1) / count))
    prefilled = count * (4 * BLOCK + 1) + (draws - count)
    assert replay.prefill_gpu_s.sum() == pytest.approx(prefilled * PREFILL_S, rel=1e-9)
    assert replay.by_step.decode_gpu_s.sum() == pytest.approx(draws * 29 * C_T_S, rel=1e-9)
    assert work.attempt_rejected.sum() == draws - count


@dataclass(frozen=True)
class Linear:
    """A step time linear in what it computes: seconds a step, a token, a draft pass, a round, and a KV entry."""

    base_s: float = 0.013
    token_s: float = 9e-5
    pass_s: float = 2.2e-3
    round_s: float = 7e-4
    kv_s: float = 0.0

    def decode_s(self, n_seqs: Number, n_drafts: Number, context_tokens: Number, draft_passes: Number) -> Number:
        drafting = np.asarray(n_drafts) > 0
        tokens_s = (n_seqs + n_drafts) * self.token_s + context_tokens * self.kv_s
        return self.base_s + tokens_s + draft_passes * self.pass_s + drafting * self.round_s

    def step(
        self, n_seqs: int, n_drafts: int, context_tokens: int, draft_passes: int, prefill: PrefillWork
    ) -> StepCost:
        decode_s = float(self.decode_s(n_seqs, n_drafts, context_tokens, draft_passes)) if n_seqs else 0.0
        return StepCost(decode_s, prefill.tokens * self.token_s, 0.0)


def _round_s(n_seqs: int, gamma: int, cost: CostModel) -> float:
    """Seconds of a round in a run in which no draft is accepted."""
    replay = run(single_turns([1] * n_seqs, [40] * n_seqs), _config(gamma, cost, Coin(0.0), concurrency=n_seqs))
    return float(replay.by_step.decode_gpu_s.sum()) / 39


@pytest.mark.parametrize("n_seqs", [1, 8])
def test_constants_read_back_from_runs_are_those_put_in(n_seqs: int) -> None:
    gamma = 4
    cost = Linear()
    c_T = _round_s(n_seqs, 0, cost)
    free = dataclasses.replace(cost, pass_s=0.0)
    once, double = (_round_s(n_seqs, g, free) for g in (gamma, 2 * gamma))
    delta = (double - once) / (gamma * c_T)
    d = (_round_s(n_seqs, gamma, cost) - once) / (gamma * c_T)
    o = once / c_T - 1 - gamma * delta
    assert c_T == pytest.approx(cost.base_s + n_seqs * cost.token_s, rel=1e-9)
    assert delta == pytest.approx(n_seqs * cost.token_s / c_T, rel=1e-9)
    assert d == pytest.approx(cost.pass_s / c_T, rel=1e-9)
    assert o == pytest.approx(cost.round_s / c_T, rel=1e-9)
    found = read_back(cost, n_seqs=n_seqs, context_tokens=100.0, gamma=gamma)
    assert (found.c_T_s, found.delta, found.d, found.o) == pytest.approx((c_T, delta, d, o), rel=1e-9)


@pytest.mark.parametrize("n_seqs", [1, 8])
@pytest.mark.parametrize("gamma", [1, 4, 8])
def test_a_run_on_a_roofline_costs_what_is_read_back_from_it(n_seqs: int, gamma: int) -> None:
    """Without time to read the KV, a roofline is linear, and a round costs c_T (1 + o + gamma (delta + d))."""
    cost = RooflineCost(
        gpu=gpu_named("H200"),
        target=model_named("Qwen3-32B"),
        draft=model_named("Qwen3-4B"),
        efficiency=Efficiency(kv_bandwidth=1e12),
    )
    found = read_back(cost, n_seqs=n_seqs, context_tokens=0.0, gamma=gamma)
    assert _round_s(n_seqs, 0, cost) == pytest.approx(found.c_T_s, rel=1e-6)
    assert _round_s(n_seqs, gamma, cost) == pytest.approx(found.c_T_s * found.round_cost(gamma), rel=1e-6)
    assert min(found.delta, found.d, found.o) > 0


def test_declared_constants_are_read_back() -> None:
    cost = DeclaredCost(c_T_s=C_T_S, delta=0.03, d=0.2, overhead=0.1)
    found = read_back(cost, n_seqs=8, context_tokens=1000, gamma=4)
    assert (found.c_T_s, found.delta, found.d, found.o) == pytest.approx((C_T_S, 0.03, 0.2, 0.1))
