from __future__ import annotations

import numpy as np
import pytest

from simulator.acceptance.base import Outputs
from simulator.acceptance.context import ContextDecay
from simulator.acceptance.correlated import PersistentAcceptance, SpreadAcceptance, Unit, correlation_of_sd
from simulator.acceptance.expectation import expectation
from simulator.acceptance.recorded import Attempts, ObservedAcceptance, from_recorded_rounds
from simulator.acceptance.rounds import chain_rounds
from simulator.acceptance.table import (
    conditional_of_survival,
    from_acceptance_length,
    from_conditional,
    from_eps,
    from_eps_by_class,
    from_survival,
)
from simulator.acceptance.tally import spec_decode_counts, tally
from simulator.acceptance.threshold import Exactness, ThresholdModel
from simulator.exact import RoundsByLabel, expect
from simulator.law import tokens_per_round
from tests.simulator.strategies import outputs_of
from tokenclass.classes import PositionClass, SubClass

EPS = [0.02, 0.1, 0.05, 0.3, 0.5, 0.03, 0.35, 0.6]
SEEDS = 60


def spans(attempts: int = 20, repeats: int = 3) -> np.ndarray:
    """Labels of outputs of 72 tokens in spans of varied length."""
    one = [
        label
        for label, length in zip([6, 0, 1, 5, 2, 4, 5, 7], [20, 3, 2, 1, 4, 12, 2, 28], strict=True)
        for _ in range(length)
    ]
    return np.tile(np.array(one, dtype=np.uint8), attempts * repeats)


def columns(counts: RoundsByLabel) -> np.ndarray:
    return np.array([counts.started, counts.share, counts.accepted_from, counts.tested, counts.hit])


MODELS: list[ThresholdModel] = [
    from_eps(EPS),
    from_conditional([0.8, 0.6, 0.4], {PositionClass.R: [0.5, 0.7]}),
    ContextDecay(from_eps(EPS), (0, 1000, 1050), (1.0, 0.9, 0.4)),
]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("gamma", [1, 4, 8])
def test_sampled_rounds_agree_with_the_exact_expectation(model: ThresholdModel, gamma: int) -> None:
    labels = spans(20)
    context = np.full(60, 1000)
    seeds = [
        Outputs(labels, one.offsets, one.keys, context)
        for one in (outputs_of([72] * 60, labels, s) for s in range(SEEDS))
    ]
    found = expect(model, seeds[0], gamma)
    by_label = found.by_label(labels, 8)
    counts = np.zeros((SEEDS, 5, 8))
    for row, outputs in zip(counts, seeds, strict=True):
        rounds = chain_rounds(model.potential(outputs, gamma), outputs.offsets)
        row[:] = columns(tally(rounds, outputs, 8))
    expected = columns(by_label)
    error = counts.std(axis=0, ddof=1) / np.sqrt(SEEDS)
    z = (counts.mean(axis=0) - expected)[error > 0] / error[error > 0]
    assert np.abs(z).max() < 3.5
    assert np.sqrt(np.mean(z**2)) < 1.4
    totals = counts[:, 0].sum(axis=1)
    assert abs(totals.mean() - found.rounds.sum()) < 3 * totals.std(ddof=1) / np.sqrt(SEEDS)


def test_one_class_gives_the_law() -> None:
    outputs = outputs_of([200_000], np.full(200_000, 7))
    model = from_eps_by_class({PositionClass.S: 0.1, PositionClass.R: 0.2, PositionClass.F: 0.4})
    found = expectation(model, outputs, 8, first=0)
    assert found.method is Exactness.EXACT
    assert found.tokens_per_round == pytest.approx(tokens_per_round(0.4, 8), rel=1e-4)


def test_finer_classes_override_the_class() -> None:
    eps = {PositionClass.S: 0.1, PositionClass.R: 0.2, PositionClass.F: 0.4}
    table = from_eps_by_class(eps, {SubClass.T: 0.7}).table[:, 0]
    assert table[SubClass.T] == pytest.approx(0.3)
    assert table[SubClass.D] == pytest.approx(0.9)
    assert table[SubClass.F] == pytest.approx(0.6)


@pytest.mark.parametrize(("length", "gamma"), [(1.0, 3), (2.5, 3), (4.0, 3), (3.37, 16)])
def test_acceptance_length_comes_out_again(length: float, gamma: int) -> None:
    outputs = outputs_of([100_000], np.zeros(100_000))
    found = expectation(from_acceptance_length(length, gamma), outputs, gamma, first=0)
    assert found.tokens_per_round == pytest.approx(length, rel=2e-4)


def test_survival_rates_give_their_own_acceptance_length() -> None:
    survival = [0.76, 0.56, 0.43]
    outputs = outputs_of([100_000], np.zeros(100_000))
    found = expect(from_survival(survival), outputs, 3, first=0)
    assert found.tokens[0] / found.rounds[0] == pytest.approx(1 + sum(survival), rel=1e-4)
    np.testing.assert_allclose(found.accepted_per_pos / found.rounds[0], survival, rtol=1e-3)


def test_persistence_has_the_asked_mean_and_autocorrelation() -> None:
    outputs = outputs_of([400_000], np.full(400_000, 7))
    model = PersistentAcceptance(from_eps(EPS), 0.6)
    accepts = (model.latent(outputs) < model.accept_at(outputs, 0)).astype(float)
    assert accepts.mean() == pytest.approx(0.4, abs=0.005)
    assert np.corrcoef(accepts[:-1], accepts[1:])[0, 1] == pytest.approx(0.6, abs=0.01)


def test_persistence_lowers_acceptance_at_round_starts() -> None:
    """A round follows a rejection: its first draft fares worse than the average position."""
    outputs = outputs_of([200_000], np.full(200_000, 7))
    at_start = {}
    for lag1 in (0.0, 0.6):
        rounds = chain_rounds(PersistentAcceptance(from_eps(EPS), lag1).potential(outputs, 4), outputs.offsets)
        at_start[lag1] = (rounds.accepted > 0).mean()
    assert at_start[0.0] == pytest.approx(0.4, abs=0.01)
    assert at_start[0.6] < 0.3


@pytest.mark.parametrize("unit", list(Unit))
def test_spread_has_the_asked_mean_and_deviation(unit: Unit) -> None:
    lengths = [5] * 20_000
    outputs = outputs_of(lengths, np.full(100_000, 7))
    drawn = SpreadAcceptance(from_eps(EPS), correlation_of_sd(0.4, 0.2), unit).accept_at(outputs, 0)
    assert drawn[::5].mean() == pytest.approx(0.4, abs=0.005)
    assert drawn[::5].std() == pytest.approx(0.2, abs=0.005)
    assert np.array_equal(drawn[::5], drawn[4::5])


def test_spans_draw_apart_and_attempts_draw_once() -> None:
    labels = np.array([7, 7, 6, 6, 7, 7])
    outputs = outputs_of([6], labels)
    by_span = SpreadAcceptance(from_eps(EPS), 0.2, Unit.SPAN).accept_at(outputs, 0)
    by_attempt = SpreadAcceptance(from_eps(EPS), 0.2, Unit.ATTEMPT).accept_at(outputs, 0)
    assert by_span[0] == by_span[1] != by_span[4] == by_span[5]
    assert by_attempt[0] == by_attempt[5]


def test_intervals_hold_the_mean_of_many_more_replicas() -> None:
    outputs = outputs_of([72] * 20, spans(20, 1))
    for model in (SpreadAcceptance(from_eps([0.3] * 8), 0.2), PersistentAcceptance(from_eps(EPS), 0.5)):
        few, many = (expectation(model, outputs, 4, replicas=count) for count in (40, 400))
        assert few.method is model.exactness
        low, high = few.interval
        assert low < many.tokens_per_round < high


def test_spread_is_exact_given_its_keys() -> None:
    outputs = outputs_of([72] * 20, spans(20, 1))
    model = SpreadAcceptance(from_eps([0.3] * 8), 0.2)
    computed = expectation(model, outputs, 4, replicas=200)
    sampled = [
        len(chain_rounds(model.potential(outputs_of([72] * 20, spans(20, 1), seed), 4), outputs.offsets))
        for seed in range(200)
    ]
    error = np.hypot(np.std(sampled, ddof=1) / np.sqrt(200), computed.rounds_standard_error)
    assert abs(np.mean(sampled) - computed.rounds) < 3 * error
    assert computed.rounds_standard_error < np.std(sampled, ddof=1) / np.sqrt(200)


def test_recorded_rounds_come_out_again() -> None:
    outputs = outputs_of([72] * 10, spans(10, 1), seed=5)
    truth = chain_rounds(from_eps(EPS).potential(outputs, 4), outputs.offsets)
    model = from_recorded_rounds(
        Attempts(outputs.keys, outputs.offsets), truth.accepted, np.full(len(truth), 4), truth.offsets
    )
    again = chain_rounds(model.potential(outputs, 4), outputs.offsets)
    assert np.array_equal(again.start, truth.start)
    assert np.array_equal(again.accepted, truth.accepted)
    half = Outputs(outputs.labels[360:], outputs.offsets[5:] - 360, outputs.keys[5:])
    assert np.array_equal(model.potential(half, 4).accepted, model.potential(outputs, 4).accepted[360:])


def test_recorded_rounds_that_do_not_fit_are_refused() -> None:
    attempts = Attempts(np.array([7], np.uint64), np.array([0, 10]))
    for accepted in ([4, 2], [4, 4, 0]):
        with pytest.raises(ValueError, match="recorded rounds of attempt 0"):
            from_recorded_rounds(attempts, np.array(accepted), np.full(len(accepted), 4), np.array([0, len(accepted)]))
    model = from_recorded_rounds(attempts, np.array([4, 4]), np.array([4, 4]), np.array([0, 2]))
    with pytest.raises(ValueError, match="no observed acceptance"):
        model.potential(outputs_of([10]), 4)


def test_counters_of_rounds() -> None:
    outputs = outputs_of([72] * 4, spans(4, 1))
    rounds = chain_rounds(from_eps(EPS).potential(outputs, 4), outputs.offsets)
    counts = spec_decode_counts(rounds, 4)
    assert counts.num_drafts == len(rounds)
    assert counts.num_draft_tokens == 4 * len(rounds)
    assert counts.num_accepted_tokens_per_pos.tolist() == [(rounds.accepted > depth).sum() for depth in range(4)]
    assert counts.mean_acceptance_length == pytest.approx(rounds.emitted.sum() / len(rounds))
    none = spec_decode_counts(chain_rounds(from_eps(EPS).potential(outputs, 0), outputs.offsets), 0)
    assert (none.num_drafts, none.mean_acceptance_length, none.draft_acceptance_rate) == (0, None, None)


def test_observed_outcomes_are_cut_not_deepened() -> None:
    outputs = outputs_of([72] * 4, spans(4, 1))
    known = from_eps(EPS).potential(outputs, 8)
    model = ObservedAcceptance(Attempts(outputs.keys, outputs.offsets), {8: known})
    assert np.array_equal(model.potential(outputs, 3).accepted, np.minimum(known.accepted, 3))
    with pytest.raises(ValueError, match="observe that depth"):
        model.potential(outputs, 9)


@pytest.mark.parametrize(
    "call",
    [
        lambda: from_eps([0.5] * 7),
        lambda: from_eps([1.5] * 8),
        lambda: from_conditional([]),
        lambda: conditional_of_survival([0.5, 0.6]),
        lambda: from_acceptance_length(5.1, 4),
        lambda: from_acceptance_length(1.0, 0),
        lambda: SpreadAcceptance(from_eps([0.5] * 8), 1.0),
        lambda: PersistentAcceptance(from_eps([0.5] * 8), 1.0),
        lambda: ContextDecay(from_eps([0.5] * 8), (0, 0), (1, 1)),
        lambda: ContextDecay(from_eps([0.5] * 8), (0,), (1,)).potential(outputs_of([3]), 2),
        lambda: from_eps([0.5] * 8).potential(outputs_of([3]), -1),
    ],
)
def test_unusable_parameters_are_refused(call) -> None:
    with pytest.raises(ValueError):
        call()
