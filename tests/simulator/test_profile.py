from __future__ import annotations

import msgspec
import numpy as np
import pytest
from scipy.stats import binomtest

from simulator.acceptance.correlated import PersistentAcceptance
from simulator.acceptance.expectation import expectation
from simulator.defaultprofile import DEFAULT_PROFILE
from simulator.law import saving
from simulator.origin import Origin
from simulator.profile import (
    AcceptanceProfile,
    Case,
    Quantity,
    with_acceptance_length,
    with_conditional,
    with_counts,
    with_eps,
    with_kappa_rho,
)
from tests.simulator.strategies import outputs_of
from tokenclass.classes import PositionClass, SubClass


def test_default_profile_lets_p1_fail() -> None:
    """Tool calls whose arguments are free strings are harder than reasoning; bare calls are easier."""
    strings = DEFAULT_PROFILE.class_eps([1, 1, 1, 0, 20, 2, 1, 1])
    bare = DEFAULT_PROFILE.class_eps([4, 1, 2, 1, 0, 6, 1, 1])
    assert strings[PositionClass.S] > strings[PositionClass.R]
    assert bare[PositionClass.S] < bare[PositionClass.R]
    assert DEFAULT_PROFILE.class_eps([0, 0, 0, 0, 0, 0, 5, 0])[PositionClass.S] is None


def test_every_number_of_the_default_says_where_it_comes_from() -> None:
    for quantity in (*DEFAULT_PROFILE.eps.values(), DEFAULT_PROFILE.kappa, DEFAULT_PROFILE.lag1):
        assert quantity.origin is Origin.DECLARED
        assert len(quantity.source) > 20
        assert quantity.date


def test_cases_are_ordered_and_the_spread_decides() -> None:
    best, central, worst = (DEFAULT_PROFILE.eps_of(case) for case in Case)
    assert all(low < middle < high for low, middle, high in zip(best, central, worst, strict=True))
    mean = [sum(each) / 8 for each in (best, worst)]
    assert saving(mean[0], 8, 0.01, 0.1857) > 0 > saving(mean[1], 8, 0.05, 0.25)


def test_profile_survives_json() -> None:
    again = msgspec.json.decode(msgspec.json.encode(DEFAULT_PROFILE), type=AcceptanceProfile)
    assert again == DEFAULT_PROFILE


def test_class_sets_its_subclasses_and_finer_names_win() -> None:
    for mapping in ({"S": 0.1, "T": 0.7}, {"T": 0.7, "S": 0.1}):
        changed = with_eps(DEFAULT_PROFILE, mapping)
        assert changed.eps_of()[:6] == (0.1, 0.1, 0.1, 0.1, 0.7, 0.1)
        assert changed.eps_of()[6:] == DEFAULT_PROFILE.eps_of()[6:]
        assert changed.eps["T"].source == "given"


def test_kappa_and_rho_give_eps_and_report_the_clip() -> None:
    changed = with_kappa_rho(DEFAULT_PROFILE, 2.0, {"S": 0.9, "R": 0.8, "F": 0.3})
    assert changed.eps_of() == pytest.approx((0.2,) * 6 + (0.4, 1.0))
    assert changed.clipped == ("F",)
    assert changed.rho_of()[0] == pytest.approx(0.9)
    assert with_eps(changed, {"F": 0.5}).clipped == ()


def test_acceptance_length_is_met() -> None:
    model = with_acceptance_length(DEFAULT_PROFILE, 2.75, 4).model()
    outputs = outputs_of([50_000])
    assert expectation(model, outputs, 4, first=0).tokens_per_round == pytest.approx(2.75, rel=1e-3)


def test_depth_lists_replace_eps() -> None:
    changed = with_conditional(DEFAULT_PROFILE, {"R": [0.8, 0.6], "F": [0.7]})
    table = changed.table().table
    assert table[SubClass.R].tolist() == pytest.approx([0.8, 0.6])
    assert table[SubClass.F].tolist() == pytest.approx([0.7, 0.7])
    assert table[SubClass.D].tolist() == pytest.approx([0.98, 0.98])
    assert changed.eps_of()[SubClass.R] == pytest.approx(0.2)
    assert with_eps(changed, {"R": 0.5}).table().table[SubClass.R].tolist() == [0.5]


def test_spread_moves_depth_lists_too() -> None:
    base = with_conditional(DEFAULT_PROFILE, {"R": [0.8, 0.6]})
    wide = msgspec.structs.replace(base.eps["R"], low=0.1, high=0.5)
    changed = msgspec.structs.replace(base, eps=base.eps | {"R": wide})
    assert changed.table(Case.WORST).table[SubClass.R].tolist() == pytest.approx([0.5, 0.3])


def test_counts_measure_eps_and_leave_the_untested() -> None:
    changed = with_counts(DEFAULT_PROFILE, [200] + [0] * 7, [180] + [0] * 7, "test")
    eps = changed.eps["D"]
    interval = binomtest(20, 200).proportion_ci(method="wilson")
    assert (eps.value, eps.low, eps.high) == pytest.approx((0.1, interval.low, interval.high))
    assert changed.eps["D"].origin is Origin.MEASURED
    assert changed.eps["N"] == DEFAULT_PROFILE.eps["N"]
    certain = with_counts(DEFAULT_PROFILE, [5] * 8, [5] * 8, "test").eps["F"]
    assert (certain.low, certain.value) == (0.0, 0.0)
    assert certain.high > 0.3


def test_autocorrelation_makes_a_persistent_model() -> None:
    lag1 = Quantity(value=0.2, low=0.1, high=0.3, origin=Origin.DECLARED, source="test")
    changed = msgspec.structs.replace(DEFAULT_PROFILE, lag1=lag1)
    assert isinstance(changed.model(), PersistentAcceptance)
    assert np.array_equal(changed.model().mean.table, DEFAULT_PROFILE.table().table)


@pytest.mark.parametrize(
    "call",
    [
        lambda: with_eps(DEFAULT_PROFILE, {"X": 0.1}),
        lambda: with_eps(DEFAULT_PROFILE, {"S": 1.1}),
        lambda: with_conditional(DEFAULT_PROFILE, {"S": []}),
        lambda: msgspec.structs.replace(DEFAULT_PROFILE, eps={}),
        lambda: Quantity(value=1, low=2, high=3, origin=Origin.DECLARED, source=""),
    ],
)
def test_unusable_values_are_refused(call) -> None:
    with pytest.raises(ValueError):
        call()
