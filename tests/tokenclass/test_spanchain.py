from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokenclass.classes import N_SUBCLASSES, SubClass
from tokenclass.spanchain import SpanChain, SpanChainBuilder
from tokenclass.tagged import LabelRuns
from traces.errors import SimtoolError

OUTPUTS = (
    [(SubClass.F, 30), (SubClass.D, 1), (SubClass.N, 3), (SubClass.P, 2), (SubClass.T, 10), (SubClass.D, 1)],
    [(SubClass.F, 60)],
    [(SubClass.R, 20), (SubClass.D, 1), (SubClass.N, 5), (SubClass.D, 1)],
)


def runs(spans: list[tuple[SubClass, int]]) -> LabelRuns:
    values, lengths = zip(*spans, strict=True)
    return LabelRuns.merged(np.array(values, np.uint8), np.array(lengths, np.int32))


def chain(outputs: tuple[list[tuple[SubClass, int]], ...] = OUTPUTS, seed: int = 3) -> SpanChain:
    builder = SpanChainBuilder()
    for output in outputs:
        builder.add(runs(output))
    return builder.build("model", seed)


def test_long_draws_have_the_shares_and_lengths_of_the_model() -> None:
    drawn = LabelRuns.of(chain().draw(600_000, "a"))
    tokens = np.bincount([value for output in OUTPUTS for value, _ in output], minlength=N_SUBCLASSES)
    expected = np.zeros(N_SUBCLASSES)
    for value, length in (span for output in OUTPUTS for span in output):
        expected[value] += length
    assert drawn.subclass_tokens() / 600_000 == pytest.approx(expected / expected.sum(), abs=0.01)
    for value in (SubClass.N, SubClass.T, SubClass.R):
        mean = drawn.lengths[drawn.values == value].mean()
        assert mean == pytest.approx(expected[value] / tokens[value], rel=0.05)


def test_spans_follow_each_other_as_in_the_model() -> None:
    values = LabelRuns.of(chain().draw(50_000, "a")).values.tolist()
    after = {SubClass(now): set() for now in values}
    for now, then in pairwise(values):
        after[SubClass(now)].add(SubClass(then))
    # N is followed by P or D alone, P by T alone; D and F may end an output, after which another one begins.
    assert after[SubClass.N] == {SubClass.P, SubClass.D}
    assert after[SubClass.P] == {SubClass.T}
    assert after[SubClass.T] == {SubClass.D}
    assert after[SubClass.R] == {SubClass.D}


def test_outputs_begin_as_the_models_do() -> None:
    model = chain()
    first = [int(model.draw(1, str(number))[0]) for number in range(3000)]
    assert np.mean(np.array(first) == SubClass.F) == pytest.approx(2 / 3, abs=0.03)
    assert set(first) == {SubClass.F, SubClass.R}


@given(st.integers(0, 400), st.text(max_size=5), st.integers(0, 5))
@settings(max_examples=60, deadline=None)
def test_a_draw_depends_on_seed_and_name_and_a_shorter_one_is_its_beginning(tokens: int, name: str, seed: int) -> None:
    labels = chain(seed=seed).draw(tokens, name)
    assert labels.size == tokens
    assert labels.dtype == np.uint8
    assert labels.tolist() == chain(seed=seed).draw(tokens, name).tolist()
    assert labels[: tokens // 2].tolist() == chain(seed=seed).draw(tokens // 2, name).tolist()


def test_a_model_of_nothing_is_refused() -> None:
    builder = SpanChainBuilder()
    builder.add(LabelRuns.of(np.empty(0, np.uint8)))
    with pytest.raises(SimtoolError, match="--mix-from model"):
        builder.build("model")
