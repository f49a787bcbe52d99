"""Equal digests get equal numbers, whatever their halves."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from traces.digests import digest, numbered, pairs


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=12))
def test_equal_digests_and_no_others_have_equal_numbers(drawn: list[tuple[int, int]]) -> None:
    numbers = numbered(np.array(drawn, np.uint64).reshape(-1, 2)).tolist()
    assert sorted(set(numbers)) == list(range(len(set(drawn))))
    assert len(set(zip(drawn, numbers, strict=True))) == len(set(drawn))


@given(st.lists(st.text(max_size=2), max_size=12))
def test_digests_stand_for_their_names(names: list[str]) -> None:
    joined = bytearray(b"".join(digest(name.encode()) for name in names))
    numbers = numbered(pairs(joined)).tolist()
    assert [numbers.index(number) for number in numbers] == [names.index(name) for name in names]
