from __future__ import annotations

from array import array

from hypothesis import given
from hypothesis import strategies as st

from traces.grouping import members


@given(st.lists(st.integers(0, 4)))
def test_each_group_has_the_places_of_its_members_in_order(drawn: list[int]) -> None:
    known: dict[int, int] = {}
    groups = [known.setdefault(value, len(known)) for value in drawn]
    expected = [[place for place, group in enumerate(groups) if group == number] for number in range(len(known))]
    assert list(members(array("q", groups))) == expected
