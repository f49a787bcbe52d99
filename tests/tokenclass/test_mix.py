"""Labels of outputs drawn together are those of outputs drawn one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tokenclass.test_spanmodel import OUTPUTS, model
from tokenclass.mix import ClassMix, Mix

MIXES = [
    ClassMix.parse("S=0.345,R=0,F=0.655"),
    ClassMix.parse("S=1,R=0,F=0", span_tokens=1),
    ClassMix.parse("S=0.2,R=0.3,F=0.5", span_tokens=3.5, seed=9),
    ClassMix.parse("S=0.5,R=0.5,F=0", span_tokens=900),
    model(OUTPUTS),
]


@pytest.mark.parametrize("mix", MIXES, ids=["default", "tokens", "short", "long", "spans of a trace"])
@given(sizes=st.lists(st.integers(0, 700), max_size=12))
def test_drawing_together_changes_nothing(mix: Mix, sizes: list[int]) -> None:
    identities = [f"output {at}" for at in range(len(sizes))]
    singly = [mix.draw(size, identity) for size, identity in zip(sizes, identities, strict=True)]
    together = mix.draw_all(np.array(sizes, np.int64), identities)
    assert together.tolist() == [label for labels in singly for label in labels.tolist()]
