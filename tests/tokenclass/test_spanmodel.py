from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from tokenclass.classes import SubClass
from tokenclass.spanmodel import SpanModel, SpanModelBuilder
from tokenclass.tagged import LabelRuns
from traces.errors import SimtoolError

Spans = list[tuple[SubClass, int]]

OUTPUTS: list[Spans] = [
    [(SubClass.F, 30), (SubClass.D, 1), (SubClass.N, 3), (SubClass.P, 2), (SubClass.T, 10), (SubClass.D, 1)],
    [(SubClass.F, 60)],
    [(SubClass.R, 20), (SubClass.D, 1), (SubClass.N, 5), (SubClass.D, 1)],
]


def agent_outputs(count: int, seed: int = 0) -> list[Spans]:
    """Short answers, calls with short arguments, and calls that write a file of a thousand tokens and more."""
    rng = np.random.default_rng(seed)
    outputs: list[Spans] = []
    for _ in range(count):
        kind, words = rng.random(), int(rng.geometric(1 / 40))
        if kind < 0.4:
            outputs.append([(SubClass.F, words)])
            continue
        written = int(rng.geometric(1 / (12 if kind < 0.8 else 900)))
        call = [(SubClass.D, 2), (SubClass.N, 3), (SubClass.K, 2), (SubClass.P, 1), (SubClass.T, written)]
        outputs.append([(SubClass.F, words), *call, (SubClass.D, 2)])
    return outputs


def runs(spans: Spans) -> LabelRuns:
    values, lengths = zip(*spans, strict=True)
    return LabelRuns.merged(np.array(values, np.uint8), np.array(lengths, np.int32))


def model(outputs: list[Spans], seed: int = 3) -> SpanModel:
    builder = SpanModelBuilder()
    for output in outputs:
        builder.add(runs(output))
    return builder.build("model", seed)


def tokens(outputs: list[Spans]) -> NDArray[np.int64]:
    found: NDArray[np.int64] = np.array([runs(output).subclass_tokens() for output in outputs]).sum(axis=0)
    return found


def drawn(source: SpanModel, sizes: list[int]) -> list[LabelRuns]:
    return [LabelRuns.of(source.draw(size, str(number))) for number, size in enumerate(sizes)]


def sizes_of(outputs: list[Spans]) -> list[int]:
    return [sum(length for _, length in output) for output in outputs]


def test_draws_of_the_models_own_lengths_have_its_shares() -> None:
    outputs = agent_outputs(600)
    source, sizes = model(outputs), sizes_of(outputs)
    rounds = np.array(
        [
            np.sum([labels.subclass_tokens() for labels in drawn(source, sizes[shift:] + sizes[:shift])], axis=0)
            for shift in range(0, 600, 20)
        ]
    )
    error = rounds.std(axis=0, ddof=1) / np.sqrt(len(rounds))
    assert (abs(rounds.mean(axis=0) - tokens(outputs)) <= 4 * error + 1e-9).all()


def test_spans_of_the_models_own_lengths_are_as_long_as_its_own() -> None:
    outputs = agent_outputs(600)
    found = drawn(model(outputs), sizes_of(outputs))
    for value in (SubClass.F, SubClass.T, SubClass.D):
        recorded, again = (
            np.concatenate([one.lengths[one.values == value] for one in labels])
            for labels in (list(map(runs, outputs)), found)
        )
        assert len(again) == pytest.approx(len(recorded), rel=0.15)
        assert stats.ks_2samp(recorded, again).statistic < 0.08
        assert again.mean() == pytest.approx(recorded.mean(), rel=0.15)


@pytest.mark.parametrize("size", [1, 25, 60, 90, 400, 5000])
def test_draws_of_any_one_length_have_the_shares_of_a_small_model(size: int) -> None:
    source, expected = model(OUTPUTS), tokens(OUTPUTS)
    found = np.sum([labels.subclass_tokens() for labels in drawn(source, [size] * (200_000 // (size + 20)))], axis=0)
    assert found / found.sum() == pytest.approx(expected / expected.sum(), abs=0.02)


def test_spans_longer_than_the_output_keep_their_share() -> None:
    outputs = [[(SubClass.F, 100), (SubClass.T, length)] for length in range(900, 1100)]
    found = np.sum([labels.subclass_tokens() for labels in drawn(model(outputs), [400] * 3000)], axis=0)
    assert found[SubClass.T] / found.sum() == pytest.approx(1000 / 1100, abs=0.02)


def test_an_output_of_a_length_between_those_of_the_model_is_of_the_nearer_ones() -> None:
    outputs: list[Spans] = [[(SubClass.F, 40)]] * 50 + [[(SubClass.T, 2000)]] * 50
    source = model(outputs)
    for size, value in ((20, SubClass.F), (100, SubClass.F), (1000, SubClass.T), (2500, SubClass.T)):
        assert set(source.draw(size, "a").tolist()) == {value}


def test_spans_follow_each_other_as_in_the_model() -> None:
    found = runs(OUTPUTS[0])
    source = model([OUTPUTS[0]])
    assert source.draw(found.n_tokens, "a").tolist() == found.expand().tolist()
    longer = LabelRuns.of(source.draw(60, "a"))
    assert longer.values.tolist() == found.values.tolist()
    assert longer.lengths.tolist() == pytest.approx(found.lengths * 60 / found.n_tokens, abs=1)


@given(st.integers(0, 400), st.text(max_size=5), st.integers(0, 5))
@settings(max_examples=60, deadline=None)
def test_a_draw_depends_on_seed_and_name_alone(size: int, name: str, seed: int) -> None:
    labels = model(OUTPUTS, seed).draw(size, name)
    assert labels.size == size
    assert labels.dtype == np.uint8
    assert set(labels.tolist()) <= {int(value) for output in OUTPUTS for value, _ in output}
    assert labels.tolist() == model(OUTPUTS, seed).draw(size, name).tolist()


def test_a_model_of_nothing_is_refused() -> None:
    builder = SpanModelBuilder()
    builder.add(LabelRuns.of(np.empty(0, np.uint8)))
    with pytest.raises(SimtoolError, match="--mix-from model"):
        builder.build("model")
