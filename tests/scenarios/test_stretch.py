"""Schema spans stretched: what must hold of any outputs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenarios.law.stretch import class_spans, schema_share, stretched
from tests.simulator.strategies import outputs_of

OUTPUTS = st.lists(st.lists(st.integers(0, 7), max_size=30), min_size=1, max_size=5)


def made(outputs: list[list[int]]):
    labels = np.array([label for output in outputs for label in output], np.uint8)
    return outputs_of([len(output) for output in outputs], labels)


@given(OUTPUTS)
@settings(max_examples=80, deadline=None)
def test_spans_cover_each_output_in_runs_of_one_class(outputs: list[list[int]]) -> None:
    one = made(outputs)
    starts, lengths = class_spans(one.labels, one.offsets)
    assert int(lengths.sum()) == len(one.labels)
    for start, length in zip(starts.tolist(), lengths.tolist(), strict=True):
        run = one.labels[start : start + length]
        assert len({"S" if label < 6 else label for label in run.tolist()}) == 1
        assert one.attempt[start] == one.attempt[start + length - 1]


@given(OUTPUTS, st.sampled_from([0.0, 0.4, 1.0, 2.5]))
@settings(max_examples=80, deadline=None)
def test_only_schema_changes_in_length(outputs: list[list[int]], factor: float) -> None:
    before, after = made(outputs), stretched(made(outputs), factor)
    for label in (6, 7):
        assert np.count_nonzero(before.labels == label) == np.count_nonzero(after.labels == label)
    schema = int(np.count_nonzero(before.labels < 6))
    assert np.count_nonzero(after.labels < 6) == int(np.floor(schema * factor + 0.5))
    if factor == 1:
        assert np.array_equal(before.labels, after.labels)
        assert np.array_equal(before.offsets, after.offsets)


def test_a_span_keeps_the_order_of_its_sub_classes() -> None:
    longer = stretched(made([[7, 0, 2, 4, 7]]), 2.0)
    assert longer.labels.tolist() == [7, 0, 0, 2, 2, 4, 4, 7]
    assert schema_share(longer.labels) == pytest.approx(0.75)
    with pytest.raises(ValueError, match="negative"):
        stretched(longer, -1.0)
