from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.names import Names, NamesBuilder


def _names(wanted: list[str]) -> Names:
    names = NamesBuilder()
    for name in wanted:
        names.append(name)
    return names.build()


@given(st.lists(st.text(st.characters())))
def test_names_are_those_that_were_added(wanted: list[str]) -> None:
    names = _names(wanted)
    again = pickle.loads(pickle.dumps(names))  # noqa: S301  written one call before
    assert list(names) == list(again) == wanted
    assert len(names) == len(wanted)
    assert names[1:] == wanted[1:]
    assert all(names[at - len(wanted)] == name for at, name in enumerate(wanted))


@given(st.lists(st.text("ab", max_size=2), max_size=3), st.lists(st.text("ab", max_size=2), max_size=3))
def test_names_are_equal_where_each_of_them_is(first: list[str], second: list[str]) -> None:
    assert (_names(first) == _names(second)) == (first == second)


def test_a_name_beyond_the_last_is_none() -> None:
    with pytest.raises(IndexError):
        _names([])[0]
