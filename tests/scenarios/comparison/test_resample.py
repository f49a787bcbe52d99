from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from scenarios.comparison import resample


@st.composite
def _owned(draw: st.DrawFn):
    n_sessions = draw(st.integers(1, 6))
    numbers = st.one_of(st.just(float("nan")), st.integers(-5, 5).map(float), st.floats(-1e3, 1e3))
    values = np.array(draw(st.lists(numbers, max_size=40)), dtype=np.float64)
    owner = np.array([draw(st.integers(0, n_sessions - 1)) for _ in values], dtype=np.int64)
    weights = draw(
        st.lists(st.lists(st.integers(0, 3), min_size=n_sessions, max_size=n_sessions), min_size=1, max_size=4)
    )
    return values, owner, n_sessions, np.array(weights, dtype=np.float64)  # fmt: skip


@pytest.mark.parametrize("cells", [1, 12, 10**6])
@given(case=_owned())
def test_quantiles_are_numpys_of_values_drawn_that_often(cells: int, case) -> None:
    """Whatever the size of the blocks."""
    values, owner, n_sessions, weights = case
    marks = [0, 12.5, 50, 90, 99, 100]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resample, "_MAX_CELLS", cells)
        found = np.array(resample.quantiles(values, owner, n_sessions, marks)(weights)).T
    for row, weight in zip(found, weights, strict=True):
        drawn = np.repeat(values, weight[owner].astype(int)) if values.size else values
        drawn = drawn[~np.isnan(drawn)]
        expected = np.percentile(drawn, marks) if drawn.size else np.full(len(marks), np.nan)
        np.testing.assert_allclose(row, expected, rtol=1e-12, atol=1e-9)


def test_sessions_are_drawn_with_replacement() -> None:
    pieces = list(resample.weights(7, 500, 0, "x"))
    assert (pieces[0] == 1).all()
    drawn = np.concatenate(pieces[1:])
    assert drawn.shape == (500, 7)
    assert (drawn.sum(axis=1) == 7).all()
    assert drawn.mean() == pytest.approx(1)
    assert drawn.var() == pytest.approx(6 / 7, rel=0.1)


def test_draws_depend_on_seed_and_name_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn(seed: int, name: str) -> bytes:
        return np.concatenate(list(resample.weights(7, 50, seed, name))).tobytes()

    whole = drawn(0, "x")
    assert drawn(1, "x") != whole != drawn(0, "y")
    monkeypatch.setattr(resample, "_CHUNK_DRAWS", 21)
    assert drawn(0, "x") == whole


def test_interval_is_scipys_bootstrap() -> None:
    """Of a mean over sessions with one value each."""
    values = np.random.default_rng(4).gamma(2, 3, 60)
    mean = resample.ratio(values, np.ones(60))
    drawn = np.concatenate([mean(piece) for piece in resample.weights(60, 2000, 0, "x")])
    found = resample.interval(drawn, 0.9)
    expected = stats.bootstrap(
        (values,), np.mean, confidence_level=0.9, n_resamples=5000, method="percentile", rng=np.random.default_rng(1)
    ).confidence_interval
    width = expected.high - expected.low
    assert found is not None
    np.testing.assert_allclose(found, (expected.low, expected.high), atol=0.06 * width)


def test_no_interval_where_most_resamples_define_nothing() -> None:
    assert resample.interval(np.array([1.0]), 0.95) is None
    assert resample.interval(np.array([1.0, np.nan, np.nan, 2.0]), 0.95) is None
    assert resample.interval(np.array([np.nan, 1.0, np.nan, 2.0]), 0.95) == pytest.approx((1.025, 1.975))


def test_long_runs_are_resampled_less_often() -> None:
    counts = [resample.resamples_for(n) for n in (10, 100_000, 10**7)]
    assert counts == [2000, 1000, 200]
