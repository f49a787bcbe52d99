"""Counting and choosing labels part by part gives what doing it at once gives."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios.law import labelcounts
from scenarios.law.labelcounts import chosen_labels, first_label_counts, label_counts
from simulator import longcolumns
from simulator.acceptance.base import Outputs
from tokenclass.classes import N_SUBCLASSES

OUTPUTS = st.lists(st.lists(st.integers(0, N_SUBCLASSES - 1), max_size=7), max_size=12)


@given(OUTPUTS, st.integers(1, 9), st.sets(st.integers(0, 11)))
def test_equals_doing_it_at_once(texts: list[list[int]], part: int, wanted: set[int]) -> None:
    labels = np.array([label for text in texts for label in text], np.uint8)
    offsets = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    chosen = np.array(sorted(number for number in wanted if number < len(texts)), np.int64)
    outputs = Outputs(labels, offsets, np.zeros(len(texts), np.uint64))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(labelcounts, "PART", part)
        patch.setattr(longcolumns, "PART", part)
        counts, firsts = label_counts(labels), first_label_counts(outputs)
        found, bounds = chosen_labels(labels, offsets, chosen)
    flat = [label for text in texts for label in text]
    assert counts.tolist() == [flat.count(label) for label in range(N_SUBCLASSES)]
    first = [text[0] for text in texts if text]
    assert firsts.tolist() == [first.count(label) for label in range(N_SUBCLASSES)]
    assert [found[a:b].tolist() for a, b in pairwise(bounds.tolist())] == [texts[n] for n in chosen]
