"""Calibration: what was put into simulated servers and recordings comes out, contradictions are named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from scenarios.calibration.fit import calibrate
from scenarios.server.run import RequestCounts, ServerRun
from simulator.acceptance.correlated import PersistentAcceptance
from simulator.acceptance.rounds import chain_rounds
from simulator.acceptance.table import from_conditional, from_eps
from simulator.defaultprofile import DEFAULT_PROFILE
from simulator.origin import Origin
from tests.simulator.strategies import outputs_of
from tokenclass.classes import SubClass
from tokenclass.tagged import BlockPrompt, LabelRuns, SegmentTable, TaggedAttempt, TaggedSession, TaggedTurn

RATES = [0.8, 0.7, 0.6, 0.5]
EPS = [0.05, 0.1, 0.15, 0.2, 0.4, 0.1, 0.5, 0.6]


def server(rates: list[float], gamma: int = 4, *, requests: int = 300, name: str = "server") -> ServerRun:
    outputs = outputs_of([400] * requests)
    rounds = chain_rounds(from_conditional(rates).potential(outputs, gamma), outputs.offsets)
    counts = []
    for low, high in zip(rounds.offsets[:-1], rounds.offsets[1:], strict=True):
        accepted = rounds.accepted[low:high]
        per_pos = tuple(float((accepted > depth).sum()) for depth in range(gamma))
        counts.append(RequestCounts(float(high - low), float(accepted.sum()), per_pos))
    return ServerRun(
        source=name,
        num_drafts=float(len(rounds)),
        num_draft_tokens=float(gamma * len(rounds)),
        num_accepted_tokens=float(rounds.accepted.sum()),
        accepted_per_pos=tuple(float((rounds.accepted > depth).sum()) for depth in range(gamma)),
        requests=tuple(counts),
    )


def session(accepted: list[tuple[int, ...]], labels: list[np.ndarray]) -> TaggedSession:
    empty = np.zeros(0, np.uint64)
    attempts = [
        TaggedAttempt(labels=LabelRuns.of(one), ids=None, segments=None, accepted_per_round=rounds)
        for rounds, one in zip(accepted, labels, strict=True)
    ]
    turns = tuple(
        TaggedTurn(id=str(at), parent=None, prompt=BlockPrompt(4, None, empty), attempts=(attempt,))
        for at, attempt in enumerate(attempts)
    )
    return TaggedSession(id="s", turns=turns, segments=SegmentTable(empty, np.zeros(0, np.int32), ()))


def recorded(gamma: int = 4) -> TaggedSession:
    labels = np.tile(np.repeat(np.arange(8), 5), 10).astype(np.uint8)
    outputs = outputs_of([len(labels)] * 120, np.tile(labels, 120))
    rounds = chain_rounds(from_eps(EPS).potential(outputs, gamma), outputs.offsets)
    bounds = zip(rounds.offsets[:-1], rounds.offsets[1:], strict=True)
    return session([tuple(rounds.accepted[low:high].tolist()) for low, high in bounds], [labels] * 120)


def test_counters_become_acceptance_per_depth_with_intervals() -> None:
    result = calibrate(DEFAULT_PROFILE, [server(RATES)], date="2026-01-02")
    (figures,) = result.sources
    for one, rate in zip(figures.depths, RATES, strict=True):  # four intervals of 95 %: twice their width holds all
        assert abs(one.per_depth.value - rate) < one.per_depth.high - one.per_depth.low
    length = figures.acceptance_length  # outputs end inside rounds, which costs a little
    assert 0.98 < length.value / (1 + sum(np.cumprod(RATES))) < 1.0
    assert 0.01 < length.high - length.low < 0.05
    assert result.profile is not None
    np.testing.assert_allclose(result.profile.table().table, np.tile(RATES, (8, 1)), atol=0.015)
    assert {eps.origin for eps in result.profile.eps.values()} == {Origin.MEASURED}
    assert {eps.date for eps in result.profile.eps.values()} == {"2026-01-02"}
    assert result.contradictions == []


def test_depths_of_different_servers_complete_each_other() -> None:
    result = calibrate(DEFAULT_PROFILE, [server(RATES, 2, name="a"), server(RATES, 4, name="b")])
    assert result.contradictions == []
    assert result.profile is not None
    assert len(result.profile.conditional["F"]) == 4


def test_contradicting_servers_are_named_and_not_averaged() -> None:
    large, small = server(RATES, name="large"), server([0.5, 0.5, 0.5, 0.5], requests=100, name="small")
    result = calibrate(DEFAULT_PROFILE, [small, large])
    assert len(result.contradictions) == 1
    assert "large" in result.contradictions[0]
    assert "small" in result.contradictions[0]
    assert result.profile is not None
    eps = result.profile.eps["T"]
    assert eps.value == pytest.approx(0.2, abs=0.01)  # the larger one's, not the mean
    assert eps.high > 0.47  # the spread covers the other


def test_intervals_over_requests_see_that_requests_differ() -> None:
    """Requests half easy, half hard: Wilson's interval of the pool is far too narrow."""
    easy, hard = server([0.9] * 4, requests=40), server([0.3] * 4, requests=40)
    both = replace(
        easy,
        num_drafts=easy.num_drafts + hard.num_drafts,
        num_draft_tokens=easy.num_draft_tokens + hard.num_draft_tokens,
        num_accepted_tokens=easy.num_accepted_tokens + hard.num_accepted_tokens,
        accepted_per_pos=tuple(a + b for a, b in zip(easy.accepted_per_pos, hard.accepted_per_pos, strict=True)),
        requests=easy.requests + hard.requests,
    )
    by_request = calibrate(DEFAULT_PROFILE, [both]).sources[0].depths[0].per_depth
    pooled = calibrate(DEFAULT_PROFILE, [replace(both, requests=())]).sources[0].depths[0].per_depth
    assert by_request.value == pooled.value
    assert by_request.high - by_request.low > 5 * (pooled.high - pooled.low)


def test_recorded_rounds_give_acceptance_by_sub_class() -> None:
    result = calibrate(DEFAULT_PROFILE, [], [recorded()], gamma=4)
    assert result.profile is not None
    for label, eps in zip(SubClass, EPS, strict=True):
        found = result.profile.eps[label.name]
        assert found.origin is Origin.MEASURED
        assert found.low - 0.02 < eps < found.high + 0.02
    assert result.notes == []


@pytest.mark.parametrize("lag1", [0.0, 0.4])
def test_autocorrelation_of_recorded_rounds_comes_back(lag1: float) -> None:
    """Rounds of a two-state chain give its autocorrelation and its means over positions, which depth lists do not."""
    labels = np.tile(np.repeat(np.arange(8), 25), 4).astype(np.uint8)
    outputs = outputs_of([len(labels)] * 120, np.tile(labels, 120))
    model = PersistentAcceptance(from_eps(EPS), lag1)
    rounds = chain_rounds(model.potential(outputs, 4), outputs.offsets)
    bounds = zip(rounds.offsets[:-1], rounds.offsets[1:], strict=True)
    found = session([tuple(rounds.accepted[low:high].tolist()) for low, high in bounds], [labels] * 120)
    result = calibrate(DEFAULT_PROFILE, [], [found], gamma=4, correlated=True)
    *each, together = result.autocorrelation
    assert together.label == "all"
    assert together.lag1.low - 0.01 < lag1 < together.lag1.high + 0.01
    assert together.lag1.high - together.lag1.low < 0.05
    assert [one.mean for one in each] == pytest.approx([1 - eps for eps in EPS], abs=0.03)
    assert result.profile is not None
    assert result.profile.conditional == {}
    assert result.profile.lag1 is not None
    assert result.profile.lag1.value == pytest.approx(lag1, abs=0.03)
    assert [result.profile.eps[label.name].value for label in SubClass] == pytest.approx(EPS, abs=0.03)
    assert calibrate(DEFAULT_PROFILE, [], [found], gamma=4).profile.lag1 is None  # type: ignore[union-attr]


def test_acceptance_by_class_and_depth_has_n_and_interval() -> None:
    result = calibrate(DEFAULT_PROFILE, [], [recorded()], gamma=4)
    first = {one.label: one for one in result.depths if one.position == 1}
    assert set(first) == {"S", *(label.name for label in SubClass)}
    assert first["S"].n == sum(first[name].n for name in "DNKVTP")
    for label, eps in zip(SubClass, EPS, strict=True):
        assert first[label.name].accepted.low - 0.02 < 1 - eps < first[label.name].accepted.high + 0.02
        assert result.profile is not None
        assert result.profile.eps[label.name].n == first[label.name].n


def test_rounds_that_do_not_fit_their_output_are_left_out_and_said() -> None:
    labels = np.full(10, SubClass.F, np.uint8)
    result = calibrate(DEFAULT_PROFILE, [], [session([(2, 2, 2), (1,)], [labels, labels])])
    assert any("1 attempts left out" in note for note in result.notes)
    assert any("taken as 2" in note for note in result.notes)
    with pytest.raises(ValueError, match="give its depth"):
        calibrate(DEFAULT_PROFILE, [], [session([(2, 2, 2)], [labels])], gamma=1)


def test_a_sweep_gives_round_costs_and_kappa_needs_rho() -> None:
    runs = [ServerRun(source="plain", tpot_s=0.02)]
    for gamma in (2, 4):
        run = server([0.7] * gamma, gamma, name=f"gamma {gamma}")
        runs.append(replace(run, tpot_s=0.02 * (1.1 + 0.12 * gamma) / run.acceptance_length))
    result = calibrate(DEFAULT_PROFILE, runs, rho_bar=0.5)
    assert result.cost is not None
    assert tuple(one.value for one in (result.cost.c_T_ms, result.cost.o, result.cost.delta_plus_d)) == pytest.approx(
        (20.0, 0.1, 0.12)
    )
    assert result.profile is not None
    assert result.profile.kappa.value == pytest.approx(0.6, abs=0.02)
    assert result.profile.kappa.origin is Origin.DERIVED


def test_counts_that_contradict_themselves_are_refused() -> None:
    run = server(RATES)
    with pytest.raises(ValueError, match="add up to"):
        calibrate(DEFAULT_PROFILE, [replace(run, num_accepted_tokens=run.num_accepted_tokens * 2)])
    with pytest.raises(ValueError, match="must fall"):
        calibrate(DEFAULT_PROFILE, [replace(run, accepted_per_pos=run.accepted_per_pos[::-1])])
