from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.traces.agent_samples import DOCUMENTS, LINES
from tests.traces.fuzz import JSON_VALUES, broken, survive
from traces.model import Session
from traces.registry import reader_named

_NAMES = sorted({*LINES, *DOCUMENTS})


def _check(sessions: list[Session]) -> None:
    for session in sessions:
        ids = [turn.id for turn in session.turns]
        assert ids
        assert len(set(ids)) == len(ids)
        for turn in session.turns:
            assert all(wait.duration_s is None or wait.duration_s >= 0 for wait in turn.tool_waits)
            assert turn.user_wait_s is None or turn.user_wait_s >= 0


@pytest.mark.parametrize("name", _NAMES)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_broken_recordings_raise_nothing_but_errors_of_their_own(name: str, data: st.DataObject) -> None:
    as_lines = name in LINES
    values = LINES[name] if as_lines else [DOCUMENTS[name]]
    _check(survive(reader_named(name), data.draw(broken(values, lines=as_lines))))


@pytest.mark.parametrize("name", _NAMES)
@settings(max_examples=25, deadline=None)
@given(values=st.lists(JSON_VALUES, max_size=3))
def test_arbitrary_json_raises_nothing_but_errors_of_its_own(name: str, values: list[object]) -> None:
    _check(survive(reader_named(name), b"\n".join(json.dumps(value).encode() for value in values)))


@pytest.mark.parametrize("name", [*sorted(LINES), *sorted(set(DOCUMENTS) - {"opencode", "no-trace"})])
def test_the_samples_themselves_are_read(name: str) -> None:
    values = LINES.get(name) or [DOCUMENTS[name]]
    sessions = survive(reader_named(name), b"\n".join(json.dumps(value).encode() for value in values))
    assert sessions
    _check(sessions)
