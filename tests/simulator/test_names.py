from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.names import Names


def _names(wanted: list[str]) -> Names:
    names = Names()
    for name in wanted:
        names.append(name)
    return names


@given(st.lists(st.text(st.characters())))
def test_names_are_those_that_were_added(wanted: list[str]) -> None:
    names = _names(wanted)
    assert list(names) == wanted
    assert len(names) == len(wanted)
    assert names[1:] == wanted[1:]
    assert all(names[at - len(wanted)] == name for at, name in enumerate(wanted))


@given(st.lists(st.text("ab", max_size=2), max_size=3), st.lists(st.text("ab", max_size=2), max_size=3))
def test_names_are_equal_where_each_of_them_is(first: list[str], second: list[str]) -> None:
    assert (_names(first) == _names(second)) == (first == second)


def test_a_name_beyond_the_last_is_none() -> None:
    with pytest.raises(IndexError):
        Names()[0]
